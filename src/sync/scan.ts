import { AgentDBError, type CallOptions, type Executor } from "../client/index.ts"
import type { KeyTerm, Table } from "./catalog.ts"
import { type Bound, bind, type Cell, isBytes, isLarge } from "./cells.ts"
import { allOf, quoteName } from "./quote.ts"
import { sideBySide } from "./side-by-side.ts"

const MiB = 1024 * 1024

/** A row comes whole up to this; then its larger values come in slices. Far below what a frame may have. */
const rowBytes = 2 * MiB
const sliceBytes = 4 * MiB
/** Of a table or a result: SQLite's own limit. */
export const columnsAtMost = 2_000
/** A query is ended here and goes on in another, as the time that one may run is limited. */
const queryBytes = 64 * MiB

export interface ScannedRow {
  /** The value of `table.rowid`; undefined where it has none. */
  readonly rowid: bigint | undefined
  /** One a column. A value that has no `bytes` is read by `slices`. */
  readonly cells: readonly Cell[]
  readonly at: Place
}

/** What is written of a table: the columns of an INSERT. */
export const writtenColumns = ({ rowid, columns }: Table): readonly string[] =>
  rowid === undefined ? columns : [rowid, ...columns]

/** What is written of a row, in the order of `writtenColumns`. */
export const valuesOf = ({ rowid, cells }: ScannedRow): readonly Cell[] =>
  rowid === undefined ? cells : [rowid, ...cells]

/** Where a row is, as a condition. */
export type Place = { readonly where: string; readonly params: readonly Bound["param"][] }

/**
 * The rows of a table in the order of its key, a frame's worth at a time; memory is bounded by that.
 * @throws AgentDBError `failed_precondition` where a value can't be read to the byte.
 */
export async function* scanTable(
  db: Executor,
  table: Table,
  encoding: string,
  o: CallOptions = {},
): AsyncGenerator<ScannedRow[], void> {
  const layout = layoutOf(table, await largeColumns(db, table, o))
  // Only these can be resumed without a sort.
  const resumes = table.kind === "ordinary" && table.key.length === 1 && isInteger(table)
  let after: bigint | undefined
  let position = 0
  for (;;) {
    let bytes = 0
    let more = false
    const params = after === undefined ? [] : [after]
    const streams = selects(table, layout, after !== undefined).map((sql) => db.query(sql, params, o))
    for await (const batch of sideBySide(streams, table.name)) {
      const rows: ScannedRow[] = []
      for (let row = 0; row < batch.rows; row++) {
        const scanned = assemble(table, layout, batch.columns, row, position++, encoding)
        rows.push(scanned)
        for (const cell of scanned.cells) bytes += isBytes(cell) ? cell.length + 8 : 8
        if (resumes) after = keyOf(table, scanned)
      }
      if (rows.length > 0) yield rows
      more = resumes && bytes >= queryBytes
      if (more) break
    }
    if (!more) return
  }
}

/** A value that is too large for its row, in pieces of at most `sliceBytes`. */
export async function* slices(
  db: Executor,
  table: Table,
  column: number,
  row: ScannedRow,
  o: CallOptions = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const cell = row.cells[column]
  if (cell === undefined || !isBytes(cell)) throw new Error("only TEXT and BLOB have slices")
  const sql = `SELECT substr(CAST(${quoteName(table.columns[column] as string)} AS BLOB), ?, ?) FROM ${quoteName(table.name)} ${row.at.where}`
  for (let at = 0; at < cell.length; at += sliceBytes) {
    const length = Math.min(sliceBytes, cell.length - at)
    const [value] =
      (await db
        .query<Uint8Array<ArrayBuffer>[]>(sql, [at + 1, length, ...row.at.params], { ...o, rowMode: "array" })
        .first()) ?? []
    if (value?.length !== length) throw new AgentDBError("aborted", `${table.name} changed while it was read`)
    yield value
  }
}

/** Where the values of a result are that belong to one column. */
interface Layout {
  readonly select: string[]
  readonly columns: readonly { at: number; large: boolean }[]
}

async function largeColumns(db: Executor, { columns, name }: Table, o: CallOptions): Promise<Set<number>> {
  const sizes: number[] = []
  for (let from = 0; from < columns.length; from += 500) {
    const some = columns.slice(from, from + 500).map((column) => `max(octet_length(${quoteName(column)}))`)
    const sql = `SELECT ${some.join(", ")} FROM ${quoteName(name)}`
    const row = await db.query<(number | null)[]>(sql, [], { ...o, rowMode: "array" }).first()
    for (const size of row ?? []) sizes.push(size ?? 0)
  }
  if (sizes.reduce((sum, size) => sum + size, 0) <= rowBytes) return new Set()
  const limit = inlineLimit(columns.length)
  return new Set(sizes.flatMap((size, column) => (size > limit ? [column] : [])))
}

const inlineLimit = (columns: number) => Math.floor(rowBytes / columns)

function layoutOf({ columns, rowid }: Table, large: ReadonlySet<number>): Layout {
  const list: string[] = rowid === undefined ? [] : [quoteName(rowid)]
  const limit = inlineLimit(columns.length)
  const places = columns.map((column, index) => {
    const at = list.length
    const name = quoteName(column)
    if (!large.has(index)) list.push(name)
    else
      list.push(
        `CASE WHEN octet_length(${name}) > ${limit} THEN NULL ELSE ${name} END`,
        `octet_length(${name})`,
        `typeof(${name}) = 'text'`,
      )
    return { at, large: large.has(index) }
  })
  // A table of generated columns only still has rows.
  if (list.length === 0) list.push("NULL")
  return { select: list, columns: places }
}

/** One statement, or several that give the same rows where one can't have so many columns. */
function selects(table: Table, { select }: Layout, resumed: boolean): string[] {
  const { name, kind, key } = table
  const where = resumed ? `WHERE ${quoteName(key[0]?.name as string)} > ?` : ""
  const order = key.length === 0 ? "" : `ORDER BY ${key.map(orderTerm).join(", ")}`
  // Without a key the table itself is read, and never an index, which has another order.
  const from = `FROM ${quoteName(name)} ${kind === "ordinary" ? "NOT INDEXED" : ""} ${where} ${order}`
  const statements: string[] = []
  for (let at = 0; at < select.length; at += columnsAtMost) {
    statements.push(`SELECT ${select.slice(at, at + columnsAtMost).join(", ")} ${from}`)
  }
  return statements
}

const orderTerm = ({ name, collation, descending }: KeyTerm) =>
  `${quoteName(name)}${collation === undefined ? "" : ` COLLATE ${quoteName(collation)}`}${descending ? " DESC" : ""}`

const isInteger = ({ rowid, key }: Table) => rowid !== undefined || key[0]?.collation === undefined

const keyOf = ({ columns, key }: Table, { rowid, cells }: ScannedRow): bigint =>
  rowid ?? (cells[columns.indexOf(key[0]?.name as string)] as bigint)

function assemble(
  table: Table,
  { columns }: Layout,
  values: readonly Cell[][],
  row: number,
  position: number,
  encoding: string,
): ScannedRow {
  const valueAt = (at: number) => values[at]?.[row] as Cell
  const rowid = table.rowid === undefined ? undefined : (valueAt(0) as bigint)
  const cells = columns.map(({ at, large }, column): Cell => {
    const cell = valueAt(at)
    if (!large || cell !== null) return cell
    const length = valueAt(at + 1)
    if (length === null) return null
    const text = valueAt(at + 2) === 1n
    if (text && encoding !== "UTF-8") {
      const name = `${quoteName(table.name)}.${quoteName(table.columns[column] as string)}`
      throw new AgentDBError(
        "failed_precondition",
        `${name} has a TEXT of ${length} bytes in ${encoding}: too large to be read`,
      )
    }
    return { text, length: Number(length), bytes: undefined }
  })
  return {
    rowid,
    cells,
    get at() {
      return placeOf(table, rowid, cells, position)
    },
  }
}

function placeOf(table: Table, rowid: bigint | undefined, cells: readonly Cell[], position: number): Place {
  if (table.key.length === 0) return { where: "NOT INDEXED LIMIT 1 OFFSET ?", params: [position] }
  const terms = table.key.map(({ name, collation }) => {
    const cell = rowid ?? (cells[table.columns.indexOf(name)] as Cell)
    if (isLarge(cell)) {
      throw new AgentDBError(
        "failed_precondition",
        `${quoteName(table.name)} has a key of ${cell.length} bytes: too large to be read`,
      )
    }
    const bound = bind(cell)
    return {
      sql: `${quoteName(name)} = ${bound.sql}${collation === undefined ? "" : ` COLLATE ${quoteName(collation)}`}`,
      param: bound.param,
    }
  })
  return { where: `WHERE ${allOf(terms.map(({ sql }) => sql))}`, params: terms.map(({ param }) => param) }
}
