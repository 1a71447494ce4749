import { type Batch, type BatchColumn, type Param, real, ValueType } from "../client/index.ts"

/** TEXT or BLOB to the byte; TEXT in UTF-8, valid or not. */
export interface Bytes {
  readonly text: boolean
  readonly length: number
  /** A view over a frame; undefined where the value is too large to come with its row. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined
}

/** A value with its storage class: INTEGER is a bigint and REAL a number. */
export type Cell = null | bigint | number | Bytes

export const isBytes = (cell: Cell): cell is Bytes => typeof cell === "object" && cell !== null

/** Whether a value did not come with its row, so that it has to be read in slices. */
export const isLarge = (cell: Cell): cell is Bytes => isBytes(cell) && !cell.bytes

function cellsOf(column: BatchColumn, rows: number): Cell[] {
  const ints = column.ints()
  const doubles = column.doubles()
  const bytes = column.bytes()
  let int = 0
  let double = 0
  let next = 0
  const cells: Cell[] = new Array(rows)
  for (let row = 0; row < rows; row++) {
    const type = column.type(row)
    if (type === ValueType.NULL) cells[row] = null
    else if (type === ValueType.INT) cells[row] = ints[int++] as bigint
    else if (type === ValueType.DOUBLE) cells[row] = doubles[double++] as number
    else {
      const value = bytes[next++] as Uint8Array<ArrayBuffer>
      cells[row] = { text: type === ValueType.TEXT, length: value.length, bytes: value }
    }
  }
  return cells
}

/** Every column of a batch. */
export const columnsOf = (batch: Batch): Cell[][] => batch.columns.map((column) => cellsOf(column, batch.rows))

/** A placeholder and what is bound to it. */
export interface Bound {
  readonly sql: string
  readonly param: Param
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** @throws if the value did not come with its row. */
export function bind(cell: Cell): Bound {
  if (cell === null || typeof cell === "bigint") return { sql: "?", param: cell }
  if (typeof cell === "number") return { sql: "?", param: real(cell) }
  if (!cell.bytes) throw new Error("the value has to be read in slices")
  if (!cell.text) return { sql: "?", param: cell.bytes }
  const text = decode(cell.bytes)
  // No string has these bytes. A cast keeps all of them.
  return text === undefined ? { sql: "CAST(? AS TEXT)", param: cell.bytes } : { sql: "?", param: text }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

/** What a cell takes in a frame, about. */
export const cellBytes = (cell: Cell): number => 12 + (isBytes(cell) ? (cell.bytes?.length ?? 0) : 0)
