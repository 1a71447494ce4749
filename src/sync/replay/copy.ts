import type { CallOptions, Executor, Statement } from "../../client/index.ts"
import type { SchemaObject, Table } from "../catalog.ts"
import { bind, type Cell, columnsOf } from "../cells.ts"
import { fts5ConfigQuery, internalQuery } from "../content-hash.ts"
import { quoteName, quoteNames } from "../quote.ts"
import { writtenColumns } from "../scan.ts"
import { fill, makePieces } from "./fill.ts"
import type { Group, Plan } from "./plan.ts"
import type { Target } from "./target.ts"

interface CopyOptions extends CallOptions {
  readonly onBytes: (bytes: number) => void
}

/** Statements that define something go in batches of these bounds. */
const ddlStatements = 64
const ddlBytes = 256 * 1024

/**
 * Makes the planned database in an empty one. Triggers and views come behind the rows, so nothing fires, and
 * indexes too, as they are built quicker at once.
 */
export async function copyDatabase(source: Executor, plan: Plan, target: Target, o: CopyOptions): Promise<void> {
  const { catalog, helper } = plan
  const pieces = helper("pieces")
  const fillOptions = { ...o, source, target, pieces, encoding: catalog.encoding }
  await target.begin(helper("steps"))
  await applyAll(target, [makePieces(pieces), ...plan.absent.map(({ sql }) => sql), ...plan.tables.map(sqlOf)])
  await applyAll(target, plan.earlyIndexes.map(sqlOf))
  for (const group of plan.groups) {
    if (group.cyclic) await fillCycle(group, helper, fillOptions)
    else
      for (const table of group.tables)
        await fill(table, { name: table.name, columns: writtenColumns(table) }, fillOptions)
  }
  // One step each: building one may take minutes.
  for (const { sql } of plan.indexes) await target.apply([sql])
  await applyAll(
    target,
    plan.absent.map(({ name }) => `DROP TABLE ${quoteName(name)}`),
  )
  const create = new Map(catalog.objects.map(({ name, sql }) => [name, sql]))
  for (const table of plan.virtual) {
    await target.apply([create.get(table.name) as string, ...(await settings(source, table, o))])
    if (table.content === "own") await fill(table, { name: table.name, columns: writtenColumns(table) }, fillOptions)
  }
  await applyAll(target, plan.views.map(sqlOf))
  for (const { name, content, module } of plan.virtual) {
    if (content === "external") await target.apply([command(name, "rebuild")])
    if (module === "fts5") await target.apply([command(name, "integrity-check")])
  }
  await applyAll(target, plan.triggers.map(sqlOf))
  const dropPieces = `DROP TABLE ${quoteName(pieces)}`
  await target.end([dropPieces, ...(await internals(source, plan, o)), ...numbers(plan)])
}

const sqlOf = ({ sql }: SchemaObject) => sql

async function applyAll(target: Target, statements: readonly string[]): Promise<void> {
  let some: string[] = []
  let bytes = 0
  for (const statement of statements) {
    if (some.length >= ddlStatements || bytes + statement.length > ddlBytes) {
      if (some.length > 0) await target.apply(some)
      some = []
      bytes = 0
    }
    some.push(statement)
    bytes += statement.length
  }
  if (some.length > 0) await target.apply(some)
}

/**
 * Foreign keys can't be turned off, and wait for the end of one transaction only. So the rows are collected in
 * tables without any, and put where they belong by one batch, which moves nothing over the network.
 */
async function fillCycle({ tables }: Group, helper: Plan["helper"], o: Parameters<typeof fill>[2]): Promise<void> {
  const moves: string[] = []
  for (const [index, table] of tables.entries()) {
    const columns = writtenColumns(table)
    const waiting = { name: helper(`rows_${index}`), columns: columns.map((_, column) => `c${column}`) }
    const name = quoteName(waiting.name)
    await o.target.apply([`CREATE TABLE ${name}(${waiting.columns.join(", ")})`])
    await fill(table, waiting, o)
    const into = `${quoteName(table.name)}(${quoteNames(columns)})`
    moves.push(`INSERT INTO ${into} SELECT ${waiting.columns.join(", ")} FROM ${name} ORDER BY rowid`)
  }
  const drops = tables.map((_, index) => `DROP TABLE ${quoteName(helper(`rows_${index}`))}`)
  await o.target.apply(["PRAGMA defer_foreign_keys = ON", ...moves, ...drops])
}

const command = (name: string, text: string): Statement => ({
  sql: `INSERT INTO ${quoteName(name)}(${quoteName(name)}) VALUES (?)`,
  params: [text],
})

async function settings(source: Executor, { name, module }: Table, o: CallOptions): Promise<Statement[]> {
  if (module !== "fts5") return []
  const sql = `INSERT INTO ${quoteName(name)}(${quoteName(name)}, rank) VALUES `
  return (await rowsOf(source, fts5ConfigQuery(name), o)).map((row) => insertRow(sql, row))
}

/** Counters of AUTOINCREMENT and statistics: their tables are made by what uses them. */
async function internals(source: Executor, { catalog, helper }: Plan, o: CallOptions): Promise<(Statement | string)[]> {
  const statements: (Statement | string)[] = []
  const name = quoteName(helper("internal"))
  for (const table of catalog.internal) {
    const rows = await rowsOf(source, internalQuery(table), o)
    if (table === "sqlite_sequence") {
      statements.push(`CREATE TABLE ${name}(id INTEGER PRIMARY KEY AUTOINCREMENT)`, `DROP TABLE ${name}`)
    } else {
      statements.push(`CREATE TABLE ${name}(a)`, `ANALYZE ${name}`, `DROP TABLE ${name}`)
    }
    statements.push(`DELETE FROM ${table}`)
    for (const row of rows) statements.push(insertRow(`INSERT INTO ${table} VALUES `, row))
  }
  return statements
}

const numbers = ({ catalog: { userVersion, applicationId } }: Plan) => [
  `PRAGMA user_version = ${userVersion}`,
  `PRAGMA application_id = ${applicationId}`,
]

function insertRow(insert: string, row: readonly Cell[]): Statement {
  const bound = row.map(bind)
  return { sql: `${insert}(${bound.map(({ sql }) => sql).join(", ")})`, params: bound.map(({ param }) => param) }
}

/** All rows of a small result. */
async function rowsOf(source: Executor, sql: string, o: CallOptions): Promise<Cell[][]> {
  const rows: Cell[][] = []
  for await (const batch of source.query(sql, [], o).batches()) {
    const columns = columnsOf(batch)
    for (let row = 0; row < batch.rows; row++) rows.push(columns.map((column) => column[row] as Cell))
  }
  return rows
}
