import type { Batch, Value } from "agentdb-web/client"

export type CellClass = "null" | "integer" | "real" | "text" | "blob"

/** By the wire's ValueType numbers. */
const classes: readonly CellClass[] = ["null", "integer", "real", "text", "blob"]

export interface Cell {
  readonly storageClass: CellClass
  readonly value: Value
}

/** A batch as rows of cells: the storage class too, which the values alone don't tell (2.0 is not 2). */
export function cellsOf(batch: Batch): Cell[][] {
  const columns = batch.columns.map((column) => column.values())
  const rows: Cell[][] = []
  for (let row = 0; row < batch.rows; row++) {
    rows.push(
      columns.map((values, index) => ({
        storageClass: classes[batch.columns[index]?.type(row) ?? 0] ?? "null",
        value: values[row] ?? null,
      })),
    )
  }
  return rows
}

/** The value as SQL would write it, text as it is; at most `limit` characters and a word on the rest. */
export function cellText({ storageClass, value }: Cell, limit: number): string {
  if (value === null) return "NULL"
  if (value instanceof Uint8Array) return blobText(value, limit)
  if (storageClass === "real") return realText(Number(value))
  const text = String(value)
  return text.length > limit ? `${text.slice(0, limit)}…` : text
}

function realText(value: number): string {
  if (Object.is(value, -0)) return "-0.0"
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : String(value)
}

function blobText(bytes: Uint8Array, limit: number): string {
  const shown = bytes.subarray(0, Math.max(1, Math.floor(limit / 2)))
  const hex = Array.from(shown, (byte) => byte.toString(16).padStart(2, "0")).join("")
  return shown.length < bytes.length ? `x'${hex}…` : `x'${hex}'`
}

/** What the line under the table says of a cell. */
export function cellSize({ storageClass, value }: Cell): string {
  if (value instanceof Uint8Array) return `${storageClass}, ${value.byteLength} B`
  if (typeof value === "string") return `${storageClass}, ${value.length} UTF-16 units`
  return storageClass
}
