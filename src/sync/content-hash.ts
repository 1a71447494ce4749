import { AgentDBError, type CallOptions, type Executor } from "../client/index.ts"
import { type Catalog, readCatalog, type Table } from "./catalog.ts"
import { type Cell, columnsOf } from "./cells.ts"
import { Digest } from "./digest.ts"
import { quoteName } from "./quote.ts"
import { scanTable, slices } from "./scan.ts"

export interface ContentHash {
  /** In lowercase hex. */
  readonly sha256: string
  /** Of the one state of the database that was read. */
  readonly tip: number
  /** Of all tables. */
  readonly rows: number
}

export interface HashOptions extends CallOptions {
  /** Told of rows read so far. */
  onProgress?: ((rows: number) => void) | undefined
}

/** Runs something on a database, again where that helps. */
export type Attempt = <T>(call: (db: Executor) => Promise<T>) => Promise<T>

/**
 * A hash over what a database says, whatever its pages look like: two databases have the same one if no SQL can
 * tell them apart. It covers the schema's objects with their SQL, `user_version` and `application_id`, the rows of
 * every table in the order of its key, each value with its storage class and to the byte, rowids where they have a
 * name, the counters of AUTOINCREMENT, what ANALYZE found, and the settings of FTS5 tables. Left out is what follows
 * from that: indexes, generated columns, the shadow tables of virtual tables (but those of a contentless FTS5
 * table, which has nothing else), page size, encoding and the order in which objects were made.
 *
 * Rows are streamed, so memory is bounded. Writers are not held up; they must not commit meanwhile.
 * @throws AgentDBError `aborted` if the database changed while it was read; `failed_precondition` for a virtual
 * table of a module that is not known.
 */
export function contentHash(db: Executor, options: HashOptions = {}): Promise<ContentHash> {
  return hashContent((call) => call(db), options)
}

/** The same where a read may be repeated: each table is a read of its own. */
export async function hashContent(attempt: Attempt, options: HashOptions = {}): Promise<ContentHash> {
  const { onProgress = () => {}, ...o } = options
  const { tip, catalog } = await attempt(async (db) => ({ tip: await tipOf(db, o), catalog: await readCatalog(db, o) }))
  const whole = new Digest().text("agentdb content 1").count(catalog.userVersion).count(catalog.applicationId)
  const objects = sorted(catalog.objects, ({ type, name }) => `${type} ${name}`)
  whole.count(objects.length)
  for (const { type, name, table, sql } of objects) whole.text(type).text(name).text(table).text(sql)
  let rows = 0
  for (const table of sorted(catalog.tables, ({ name }) => name)) {
    const part = await attempt((db) => hashTable(db, table, catalog, o, (some) => onProgress(rows + some)))
    rows += part.rows
    whole.text(table.name).count(part.rows).text(part.sha256)
  }
  for (const name of catalog.internal) {
    const part = await attempt((db) => hashQuery(db, internalQuery(name), o))
    if (part.rows > 0) whole.text(name).text(part.sha256)
  }
  if ((await attempt((db) => tipOf(db, o))) !== tip) {
    throw new AgentDBError("aborted", "the database changed while it was read")
  }
  return { sha256: whole.end(), tip, rows }
}

interface Part {
  sha256: string
  rows: number
}

async function hashTable(
  db: Executor,
  table: Table,
  catalog: Catalog,
  o: CallOptions,
  onRows: (rows: number) => void,
): Promise<Part> {
  const digest = new Digest()
  let rows = 0
  const read = async (table: Table) => {
    for await (const some of scanTable(db, table, catalog.encoding, o)) {
      for (const row of some) {
        if (row.rowid !== undefined) digest.cell(row.rowid)
        for (const [column, cell] of row.cells.entries()) {
          digest.cell(cell)
          if (cell === null || typeof cell !== "object" || cell.bytes) continue
          for await (const slice of slices(db, table, column, row, o)) digest.more(slice)
        }
      }
      rows += some.length
      onRows(rows)
    }
  }
  if (table.content === "own") await read(table)
  if (table.content === "contentless") {
    for (const shadow of table.shadows) {
      digest.text(shadow.name)
      await read(shadow)
    }
  } else if (table.module === "fts5") {
    digest.text((await hashQuery(db, fts5ConfigQuery(table.name), o)).sha256)
  }
  return { sha256: digest.end(), rows }
}

/** Settings of an FTS5 table that its SQL does not have. The version follows from them. */
export const fts5ConfigQuery = (name: string): string =>
  `SELECT k, v FROM ${quoteName(`${name}_config`)} WHERE k <> 'version' ORDER BY k`

/** The rows of one of the engine's own tables, in an order that does not depend on how they came. */
export const internalQuery = (name: string): string =>
  name === "sqlite_sequence"
    ? "SELECT name, seq FROM sqlite_sequence ORDER BY name, seq"
    : "SELECT tbl, idx, stat FROM sqlite_stat1 ORDER BY tbl, idx, stat"

async function hashQuery(db: Executor, sql: string, o: CallOptions): Promise<Part> {
  const digest = new Digest()
  let rows = 0
  for await (const batch of db.query(sql, [], o).batches()) {
    const columns = columnsOf(batch)
    for (let row = 0; row < batch.rows; row++) for (const column of columns) digest.cell(column[row] as Cell)
    rows += batch.rows
  }
  return { sha256: digest.end(), rows }
}

async function tipOf(db: Executor, o: CallOptions): Promise<number> {
  const stream = db.query("SELECT 1", [], o)
  await stream.all()
  return (await stream.done).tip
}

/** By code units, which is the same everywhere. */
const sorted = <T>(items: readonly T[], key: (item: T) => string): T[] =>
  [...items].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))
