import type { CallOptions, Executor, Statement } from "../../client/index.ts"
import type { Table } from "../catalog.ts"
import { bind, type Cell, cellBytes, isLarge } from "../cells.ts"
import { quoteName, quoteNames } from "../quote.ts"
import { columnsAtMost, type ScannedRow, scanTable, slices, valuesOf } from "../scan.ts"
import type { Target } from "./target.ts"

/** Bounds of a batch and of a statement, far below what a frame and a statement may have. */
const batchBytes = 1024 * 1024
const batchRows = 8_192
const statementRows = 512
const statementParams = 32_000

interface FillOptions extends CallOptions {
  readonly source: Executor
  readonly encoding: string
  readonly target: Target
  /** A table of the target for pieces of large values. */
  readonly pieces: string
  readonly onBytes: (bytes: number) => void
}

export const makePieces = (pieces: string) => `CREATE TABLE ${quoteName(pieces)}(id INTEGER PRIMARY KEY, data BLOB)`

/** Copies the rows of a table, in its order, in batches. @param into has as many columns, by position */
export async function fill(
  table: Table,
  into: { name: string; columns: readonly string[] },
  o: FillOptions,
): Promise<void> {
  const insert = `INSERT INTO ${quoteName(into.name)}(${quoteNames(into.columns)}) VALUES `
  let waiting: ScannedRow[] = []
  let bytes = 0
  const flush = async () => {
    if (waiting.length === 0) return
    await o.target.apply(insertAll(insert, waiting))
    o.onBytes(bytes)
    waiting = []
    bytes = 0
  }
  for await (const rows of scanTable(o.source, table, o.encoding, o)) {
    for (const row of rows) {
      if (row.cells.some(isLarge)) {
        await flush()
        await insertLarge(insert, table, row, o)
        continue
      }
      waiting.push(row)
      for (const cell of row.cells) bytes += cellBytes(cell)
      if (bytes >= batchBytes || waiting.length >= batchRows) await flush()
    }
  }
  await flush()
}

function insertAll(insert: string, rows: readonly ScannedRow[]): Statement[] {
  const width = valuesOf(rows[0] as ScannedRow).length
  const step = width > columnsAtMost ? 1 : Math.max(1, Math.min(statementRows, Math.floor(statementParams / width)))
  const statements: Statement[] = []
  for (let from = 0; from < rows.length; from += step) {
    const bound = rows.slice(from, from + step).map((row) => valuesOf(row).map(bind))
    const sql = insert + bound.map((row) => `(${row.map((cell) => cell.sql).join(", ")})`).join(", ")
    statements.push({ sql, params: bound.flatMap((row) => row.map((cell) => cell.param)) })
  }
  return statements
}

/** Its large values go ahead in pieces and are joined by the very INSERT, so no constraint ever sees a part. */
async function insertLarge(insert: string, table: Table, row: ScannedRow, o: FillOptions): Promise<void> {
  const pieces = quoteName(o.pieces)
  let id = 0
  const params: ReturnType<typeof bind>["param"][] = []
  const terms: string[] = []
  const add = (cell: Cell) => {
    const bound = bind(cell)
    terms.push(bound.sql)
    params.push(bound.param)
  }
  if (row.rowid !== undefined) add(row.rowid)
  for (const [column, cell] of row.cells.entries()) {
    if (!isLarge(cell)) {
      add(cell)
      continue
    }
    const first = id
    for await (const slice of slices(o.source, table, column, row, o)) {
      await o.target.apply([{ sql: `INSERT INTO ${pieces} VALUES (?, ?)`, params: [id++, slice] }])
      o.onBytes(slice.length)
    }
    terms.push(`CAST(${join(pieces, first, id)} AS ${cell.text ? "TEXT" : "BLOB"})`)
  }
  await o.target.apply([{ sql: `${insert}(${terms.join(", ")})`, params }, `DELETE FROM ${pieces}`])
}

/** As a tree, since the depth of an expression is limited. */
function join(pieces: string, from: number, to: number): string {
  if (to - from <= 1) return `(SELECT data FROM ${pieces} WHERE id = ${from})`
  const middle = (from + to) >> 1
  return `(${join(pieces, from, middle)} || ${join(pieces, middle, to)})`
}
