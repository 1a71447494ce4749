import { AgentDBError, type CallOptions, type Executor, type Row } from "../client/index.ts"
import { fts5Options, parseModuleCall } from "./module-args.ts"
import { quoteName } from "./quote.ts"

/** An object of the schema that was made by SQL, and not by the engine for another one. */
export interface SchemaObject {
  readonly type: "table" | "index" | "view" | "trigger"
  readonly name: string
  /** The table that an index or trigger belongs to. */
  readonly table: string
  readonly sql: string
}

/** A column as it takes part in the order of a table's rows. */
export interface KeyTerm {
  readonly name: string
  /** Undefined: the column's own. */
  readonly collation?: string
  readonly descending?: boolean
}

export interface Table {
  readonly name: string
  readonly kind: "ordinary" | "virtual"
  /** What can be written, in order: generated and hidden columns are left out. */
  readonly columns: readonly string[]
  /** What tells a row, beside `columns` where it is none of them: a name of the rowid. */
  readonly rowid: string | undefined
  /** Unique and never NULL, in the order that the table is stored in. Empty: its rowid has no name. */
  readonly key: readonly KeyTerm[]
  /** Where its content is kept; `none`: in itself there is nothing to read. */
  readonly content: "own" | "external" | "contentless" | "none"
  /** Of a virtual table, in lower case. */
  readonly module: string | undefined
  readonly options: ReadonlyMap<string, string>
  /** Of a contentless FTS5 table: where its index is. */
  readonly shadows: readonly Table[]
}

/** The schema of a database, as far as plain SQL shows it. */
export interface Catalog {
  readonly encoding: string
  readonly userVersion: number
  readonly applicationId: number
  /** In the order they were made. */
  readonly objects: readonly SchemaObject[]
  /** In the order they were made, without the engine's own and without shadow tables. */
  readonly tables: readonly Table[]
  readonly shadows: ReadonlySet<string>
  /** The engine's own tables that have content of the database: `sqlite_sequence`, `sqlite_stat1`. */
  readonly internal: ReadonlySet<string>
}

/** Their rows are read and written like those of any table. */
const readableModules = new Set(["fts5", "rtree", "rtree_i32", "geopoly"])
/** They show what other tables have. */
const windowModules = new Set(["fts5vocab", "dbstat", "bytecode", "tables_used"])

/** @throws AgentDBError `failed_precondition` for a virtual table of a module that is not known. */
export async function readCatalog(db: Executor, o: CallOptions = {}): Promise<Catalog> {
  const rows = (sql: string, params: string[] = []) => db.query<Row>(sql, params, { ...o, text: "strict" }).all()
  const pragma = async (name: string) => Object.values((await rows(`PRAGMA ${name}`))[0] ?? {})[0]
  const list = await rows("SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'")
  const kinds = new Map(list.map(({ name, type, wr }) => [String(name), { type, withoutRowid: wr === 1 }]))
  const shadows = new Set([...kinds].filter(([, { type }]) => type === "shadow").map(([name]) => name))
  const schema = await rows("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")
  const objects = schema
    .filter(({ name, tbl_name, sql }) => sql !== null && !isInternal(String(name)) && !shadows.has(String(tbl_name)))
    .map(({ type, name, tbl_name, sql }) => ({ type, name, table: tbl_name, sql }) as SchemaObject)
  const readShadow = async (name: string): Promise<Table> => {
    const columns = await rows("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", [name])
    const names = columns.map((column) => String(column["name"]))
    return ordinaryTable({ name, columns: names }, columns, kinds.get(name)?.withoutRowid ?? false, rows)
  }
  const tables: Table[] = []
  for (const { type, name, sql } of objects) {
    if (type !== "table") continue
    const columns = await rows("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", [name])
    const virtual = kinds.get(name)?.type === "virtual"
    const known = {
      name,
      columns: columns.filter(({ hidden }) => hidden === 0).map((column) => String(column["name"])),
    }
    const table = virtual
      ? virtualTable(known, sql)
      : await ordinaryTable(known, columns, kinds.get(name)?.withoutRowid ?? false, rows)
    const parts = table.content === "contentless" ? [...shadows].filter((shadow) => shadow.startsWith(`${name}_`)) : []
    tables.push({ ...table, shadows: await Promise.all(parts.sort().map(readShadow)) })
  }
  return {
    // An engine that knows no other tells none.
    encoding: String((await pragma("encoding")) ?? "UTF-8"),
    userVersion: Number(await pragma("user_version")),
    applicationId: Number(await pragma("application_id")),
    objects,
    tables,
    shadows,
    internal: new Set(["sqlite_sequence", "sqlite_stat1"].filter((name) => kinds.has(name))),
  }
}

const isInternal = (name: string) => /^sqlite_/i.test(name)

type Known = Pick<Table, "name" | "columns">

function virtualTable({ name, columns }: Known, sql: string): Table {
  const { module = "", args = [] } = parseModuleCall(sql) ?? {}
  const options = module === "fts5" ? fts5Options(args) : new Map<string, string>()
  if (!readableModules.has(module) && !windowModules.has(module)) {
    throw new AgentDBError("failed_precondition", `table ${quoteName(name)}: virtual tables of ${module} are not known`)
  }
  const table = { name, columns, module, options, shadows: [], kind: "virtual" } as const
  if (windowModules.has(module)) return { ...table, rowid: undefined, key: [], content: "none" }
  // The first column of an R*Tree is its rowid.
  const id = columns[0]
  if (module.startsWith("rtree") && id !== undefined) {
    return { ...table, rowid: undefined, key: [{ name: id }], content: "own" }
  }
  const rowid = rowidName(columns)
  const content = options.get("content")
  return {
    ...table,
    rowid,
    key: rowid === undefined ? [] : [{ name: rowid }],
    content: content === undefined ? "own" : content === "" ? "contentless" : "external",
  }
}

async function ordinaryTable(
  { name, columns }: Known,
  info: readonly Row[],
  withoutRowid: boolean,
  rows: (sql: string, params: string[]) => Promise<Row[]>,
): Promise<Table> {
  const table = {
    name,
    columns,
    kind: "ordinary",
    content: "own",
    module: undefined,
    options: new Map(),
    shadows: [],
  } as const
  const primary = info.filter(({ pk }) => pk !== 0)
  const index = (await rows("SELECT name FROM pragma_index_list(?) WHERE origin = 'pk'", [name]))[0]
  if (withoutRowid) {
    const terms = await rows('SELECT name, "desc", coll FROM pragma_index_xinfo(?) WHERE key = 1', [
      String(index?.["name"]),
    ])
    const key = terms.map(({ name, desc, coll }) => ({
      name: String(name),
      collation: String(coll),
      descending: desc === 1,
    }))
    return { ...table, rowid: undefined, key }
  }
  // A primary key that has no index is the rowid.
  const alias = primary[0]
  if (alias && !index) return { ...table, rowid: undefined, key: [{ name: String(alias["name"]) }] }
  const rowid = rowidName(info.map((column) => String(column["name"])))
  return { ...table, rowid, key: rowid === undefined ? [] : [{ name: rowid }] }
}

/** A name of the rowid that no column has taken. */
function rowidName(columns: readonly string[]): string | undefined {
  const taken = new Set(columns.map((name) => name.toLowerCase()))
  return ["rowid", "_rowid_", "oid"].find((name) => !taken.has(name))
}
