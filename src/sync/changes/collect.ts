import type { CallOptions, Executor } from "../../client/index.ts"
import { type Catalog, readCatalog, type Table } from "../catalog.ts"
import { type Cell, cellBytes, isBytes } from "../cells.ts"
import { quoteName } from "../quote.ts"
import { columnsAtMost, type ScannedRow, writtenColumns } from "../scan.ts"
import { type Change, diffTable } from "./diff.ts"
import { SnapshotNeeded } from "./snapshot-needed.ts"

/** All that changed between two copies of a database. */
export interface Changes {
  readonly catalog: Catalog
  /** By table, in the order they were made. */
  readonly rows: readonly Change[]
  /** Counters of AUTOINCREMENT that moved. */
  readonly sequences: readonly { name: string; seq: number | bigint }[]
  /** `user_version` and `application_id` where they changed. */
  readonly pragmas: readonly string[]
}

/** Changes are applied in one transaction and wait in memory until then. */
const maxBytes = 32 * 1024 * 1024
const maxRows = 100_000

/** @throws SnapshotNeeded where rows alone don't make the difference, or too many do. */
export async function collectChanges(base: Executor, current: Executor, o: CallOptions): Promise<Changes> {
  const [before, catalog] = await Promise.all([readCatalog(base, o), readCatalog(current, o)])
  if (schemaOf(before) !== schemaOf(catalog)) throw new SnapshotNeeded("the schema changed")
  for (const table of catalog.tables) checkTable(table)
  const rows: Change[] = []
  let bytes = 0
  for (const table of catalog.tables) {
    if (table.content !== "own") continue
    for await (const change of diffTable({ base, current, encoding: catalog.encoding }, table, o)) {
      const kept = keep(change)
      rows.push(kept)
      bytes += sizeOf(kept.before) + sizeOf(kept.after)
      if (rows.length > maxRows || bytes > maxBytes) throw new SnapshotNeeded("too much changed for one transaction")
    }
  }
  return {
    catalog,
    rows,
    sequences: await movedSequences(base, current, catalog, o),
    pragmas: [
      ...(before.userVersion === catalog.userVersion ? [] : [`PRAGMA user_version = ${catalog.userVersion}`]),
      ...(before.applicationId === catalog.applicationId ? [] : [`PRAGMA application_id = ${catalog.applicationId}`]),
    ],
  }
}

/** What has to be alike for rows to fit. */
export const schemaOf = ({ objects }: Catalog): string =>
  JSON.stringify(objects.map(({ type, name, table, sql }) => JSON.stringify([type, name, table, sql])).sort())

function checkTable(table: Table): void {
  const { name, key, content } = table
  if (content === "contentless") throw new SnapshotNeeded(`${quoteName(name)} has no content to compare`)
  if (content === "own" && key.length === 0) throw new SnapshotNeeded(`${quoteName(name)} has no key to tell its rows`)
  // A row is written by a SELECT of that many.
  if (writtenColumns(table).length > columnsAtMost) {
    throw new SnapshotNeeded(`${quoteName(name)} has more than ${columnsAtMost} columns with its rowid`)
  }
}

/** The same change, without the frames that its values came in. */
function keep(change: Change): Change {
  const { before, after } = change
  return { ...change, before: before && copied(before), after: after && copied(after) } as Change
}

function copied(row: ScannedRow): ScannedRow {
  const cells = row.cells.map(
    (cell): Cell => (isBytes(cell) && cell.bytes ? { ...cell, bytes: cell.bytes.slice() } : cell),
  )
  return { rowid: row.rowid, cells, at: row.at }
}

const sizeOf = (row: ScannedRow | undefined): number =>
  row === undefined ? 0 : row.cells.reduce<number>((sum, cell) => sum + cellBytes(cell), 100)

async function movedSequences(base: Executor, current: Executor, { internal }: Catalog, o: CallOptions) {
  if (!internal.has("sqlite_sequence")) return []
  const read = (db: Executor) =>
    db.query<{ name: string; seq: number | bigint }>("SELECT name, seq FROM sqlite_sequence", [], o).all()
  const before = new Map((await read(base)).map(({ name, seq }) => [name, seq]))
  return (await read(current)).filter(({ name, seq }) => before.get(name) !== seq)
}
