import { AgentDBError, type CallOptions, type Executor, type Row } from "../../client/index.ts"
import { type Catalog, readCatalog, type SchemaObject, type Table } from "../catalog.ts"
import { quoteName, quoteNames } from "../quote.ts"
import { columnsAtMost, writtenColumns } from "../scan.ts"
import { cycles } from "./cycles.ts"

/** Tables that are filled together: one, or several whose foreign keys go round. */
export interface Group {
  readonly tables: readonly Table[]
  /** A row may need one that comes after it. */
  readonly cyclic: boolean
}

/** In which order a database is made anew, so that nothing fires and no foreign key fails. */
export interface Plan {
  readonly catalog: Catalog
  readonly tables: readonly SchemaObject[]
  /** Unique ones of tables that foreign keys point at: without them no row can be written. */
  readonly earlyIndexes: readonly SchemaObject[]
  /** Parents before children. */
  readonly groups: readonly Group[]
  /** Makes tables that foreign keys name and that are not there: no child could be written. */
  readonly absent: readonly { name: string; sql: string }[]
  readonly indexes: readonly SchemaObject[]
  readonly virtual: readonly Table[]
  readonly views: readonly SchemaObject[]
  readonly triggers: readonly SchemaObject[]
  /** Names for helpers, which no object has. */
  readonly helper: (use: string) => string
}

interface ForeignKey {
  readonly child: string
  readonly parent: string
  /** Empty: the primary key. */
  readonly to: readonly string[]
  readonly width: number
}

const violationsNamed = 10

/** @throws AgentDBError `failed_precondition` for what can't be made anew by SQL, naming it. */
export async function makePlan(db: Executor, o: CallOptions): Promise<Plan> {
  const catalog = await readCatalog(db, o)
  for (const table of catalog.tables) refuseIndexOnly(table)
  await refuseViolations(db, o)
  const ordinary = catalog.tables.filter(({ kind }) => kind === "ordinary")
  const keys = await foreignKeys(db, ordinary, o)
  const byName = new Map(ordinary.map((table) => [lower(table.name), table]))
  const parents = new Set(keys.map(({ parent }) => lower(parent)))
  const isOrdinary = ({ name }: SchemaObject) => byName.has(lower(name))
  const of = (type: SchemaObject["type"]) => catalog.objects.filter((object) => object.type === type)
  const isEarly = ({ table, sql }: SchemaObject) => parents.has(lower(table)) && /^CREATE\s+UNIQUE\b/i.test(sql)
  const edges = new Map(ordinary.map(({ name }) => [lower(name), new Set<string>()]))
  for (const { child, parent } of keys) if (byName.has(lower(parent))) edges.get(lower(child))?.add(lower(parent))
  const groups = cycles(edges).map((names) => ({
    tables: names.map((name) => byName.get(name) as Table),
    cyclic: names.length > 1 || (edges.get(names[0] as string)?.has(names[0] as string) ?? false),
  }))
  for (const { cyclic, tables } of groups) if (cyclic) tables.forEach(refuseTooWide)
  const taken = new Set([...catalog.objects.map(({ name }) => lower(name)), ...[...catalog.shadows].map(lower)])
  return {
    catalog,
    tables: of("table").filter(isOrdinary),
    earlyIndexes: of("index").filter(isEarly),
    groups,
    absent: absentParents(keys.filter(({ parent }) => !byName.has(lower(parent)))),
    indexes: of("index").filter((index) => !isEarly(index)),
    virtual: catalog.tables.filter(({ kind }) => kind === "virtual"),
    views: of("view"),
    triggers: of("trigger"),
    helper: (use) => {
      let name = `replay_${use}`
      while (taken.has(name)) name = `_${name}`
      return name
    },
  }
}

const lower = (name: string) => name.toLowerCase()

function refuseIndexOnly({ name, content, options }: Table): void {
  const refuse = (why: string) => {
    throw new AgentDBError("failed_precondition", `table ${quoteName(name)} can't be replayed: ${why}`)
  }
  if (content === "contentless") refuse("it is a contentless FTS5 table, which has an index only")
  if (options.get("locale") === "1") refuse("it is an FTS5 table with locales, which can't be read back")
}

/** Its rows would have to wait in a table of one column more. */
function refuseTooWide(table: Table): void {
  if (writtenColumns(table).length <= columnsAtMost) return
  throw new AgentDBError(
    "failed_precondition",
    `table ${quoteName(table.name)} can't be replayed: its foreign keys go round in a circle, and with its rowid it has more than ${columnsAtMost} columns`,
  )
}

/** A target enforces foreign keys, so it would refuse them too, in the middle. */
async function refuseViolations(db: Executor, o: CallOptions): Promise<void> {
  const named: string[] = []
  let count = 0
  try {
    for await (const { table, rowid, parent } of db.query<Row>("PRAGMA foreign_key_check", [], o)) {
      if (count++ < violationsNamed) named.push(`${table}${rowid === null ? "" : ` rowid ${rowid}`} (of ${parent})`)
    }
  } catch (error) {
    if (!(error instanceof AgentDBError) || error.code !== "SQLITE_ERROR") throw error
    throw new AgentDBError("failed_precondition", `foreign keys can't be checked: ${error.message}`, { cause: error })
  }
  if (count === 0) return
  const more = count > named.length ? `, and ${count - named.length} more` : ""
  throw new AgentDBError("failed_precondition", `rows violate foreign keys: ${named.join(", ")}${more}`)
}

async function foreignKeys(db: Executor, tables: readonly Table[], o: CallOptions): Promise<ForeignKey[]> {
  const keys: ForeignKey[] = []
  for (const { name } of tables) {
    const sql = 'SELECT id, "table" AS parent, "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq'
    const rows = await db.query<{ id: number; parent: string; to: string | null }>(sql, [name], o).all()
    for (const id of new Set(rows.map((row) => row.id))) {
      const parts = rows.filter((row) => row.id === id)
      const to = parts.flatMap((part) => part.to ?? [])
      keys.push({ child: name, parent: parts[0]?.parent as string, to, width: parts.length })
    }
  }
  return keys
}

/** Rows that hold NULL in such a key are legal, but none can be written while its table is absent. */
function absentParents(keys: readonly ForeignKey[]): { name: string; sql: string }[] {
  const byName = new Map<string, ForeignKey[]>()
  for (const key of keys) byName.set(lower(key.parent), [...(byName.get(lower(key.parent)) ?? []), key])
  return [...byName.values()].map((keys) => {
    const name = keys[0]?.parent as string
    const columns = new Map(keys.flatMap(({ to }) => to).map((column) => [lower(column), column]))
    const primary = keys.find(({ to }) => to.length === 0)
    const own = Array.from({ length: primary?.width ?? 0 }, (_, i) => `replay_${i}`)
    const constraints = keys.filter(({ to }) => to.length > 0).map(({ to }) => `UNIQUE (${quoteNames(to)})`)
    if (primary) constraints.push(`PRIMARY KEY (${quoteNames(own)})`)
    const all = [...columns.values(), ...own].map(quoteName)
    return { name, sql: `CREATE TABLE ${quoteName(name)}(${[...all, ...constraints].join(", ")})` }
  })
}
