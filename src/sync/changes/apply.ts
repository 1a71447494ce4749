import {
  AgentDBError,
  type CallOptions,
  type Connection,
  type Statement,
  type Transaction,
} from "../../client/index.ts"
import { readCatalog, type Table } from "../catalog.ts"
import { type Bound, bind, type Cell, cellBytes, isBytes, isLarge } from "../cells.ts"
import { allOf, quoteName, quoteNames } from "../quote.ts"
import { type ScannedRow, valuesOf, writtenColumns } from "../scan.ts"
import { type Changes, schemaOf } from "./collect.ts"
import { sameCell } from "./compare.ts"
import type { Change } from "./diff.ts"
import { type Conflict, PushConflict } from "./push-conflict.ts"

const batchBytes = 1024 * 1024
const batchStatements = 256

/**
 * Applies changes in one transaction, all or none. A row must be as it was at the last push, or already as it is now;
 * so applying twice is the same as once.
 * @returns the target's tip
 * @throws PushConflict if a row is neither; SQLite's code if a constraint is in the way
 */
export async function applyChanges(
  target: Connection,
  changes: Changes,
  tables: readonly Table[],
  o: CallOptions,
): Promise<number> {
  await using tx = await target.begin(o)
  if (schemaOf(await readCatalog(tx, o)) !== schemaOf(changes.catalog)) {
    throw new PushConflict([{ table: "", kind: "schema", key: [] }])
  }
  const changed = new Set(changes.rows.map(({ table }) => table.name))
  // They ran at the source; what they did is among the changes.
  const triggers = changes.catalog.objects.filter(({ type, table }) => type === "trigger" && changed.has(table))
  await run(tx, ["PRAGMA defer_foreign_keys = ON", ...triggers.map(({ name }) => `DROP TRIGGER ${quoteName(name)}`)], o)
  const conflicts: Conflict[] = []
  const of = (kind: Change["kind"], table: Table) =>
    changes.rows.filter((change) => change.kind === kind && change.table.name === table.name)
  const before = await totalChanges(tx, o)
  let applied = 0
  const ordinary = tables.filter(({ kind }) => kind === "ordinary")
  // No ON DELETE may reach a row that has moved to another parent, or is deleted itself.
  for (const table of ordinary) applied += await applyAll(tx, of("update", table), conflicts, o)
  for (const table of [...ordinary].reverse()) applied += await applyAll(tx, of("delete", table), conflicts, o)
  for (const table of ordinary) applied += await applyAll(tx, of("insert", table), conflicts, o)
  // ON DELETE and ON UPDATE reached rows that the source does not know.
  if (conflicts.length === 0 && (await totalChanges(tx, o)) - before !== applied) {
    conflicts.push({ table: "", kind: "foreign key action", key: [] })
  }
  for (const table of tables.filter(({ kind }) => kind === "virtual")) {
    for (const kind of ["update", "delete", "insert"] as const) await applyAll(tx, of(kind, table), conflicts, o)
  }
  if (conflicts.length > 0) throw new PushConflict(conflicts)
  await run(tx, [...tail(changes), ...triggers.map(({ sql }) => sql)], o)
  return (await tx.commit(o)).tip
}

function tail({ catalog, rows, sequences, pragmas }: Changes): (Statement | string)[] {
  const external = rows.length === 0 ? [] : catalog.tables.filter(({ content }) => content === "external")
  return [
    ...external.map(({ name }) => `INSERT INTO ${quoteName(name)}(${quoteName(name)}) VALUES ('rebuild')`),
    ...sequences.map(({ name, seq }) => ({
      sql: "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?",
      params: [seq, name],
    })),
    ...pragmas,
  ]
}

async function run(tx: Transaction, statements: (Statement | string)[], o: CallOptions): Promise<void> {
  if (statements.length > 0) await tx.batch(statements, o)
}

const totalChanges = async (tx: Transaction, o: CallOptions) =>
  (await tx.query<number[]>("SELECT total_changes()", [], { ...o, rowMode: "array" }).first())?.[0] ?? 0

/** @returns how many rows it changed */
async function applyAll(
  tx: Transaction,
  changes: readonly Change[],
  conflicts: Conflict[],
  o: CallOptions,
): Promise<number> {
  let applied = 0
  for (let from = 0; from < changes.length; ) {
    const some: Change[] = []
    for (let bytes = 0; from < changes.length && some.length < batchStatements && bytes < batchBytes; from++) {
      const change = changes[from] as Change
      some.push(change)
      for (const row of [change.before, change.after]) for (const cell of row?.cells ?? []) bytes += cellBytes(cell)
    }
    const { results } = await tx.batch(some.map(statementOf), o)
    for (const [index, change] of some.entries()) {
      const result = results[index]
      if (result && "rowsAffected" in result && result.rowsAffected > 0) applied += result.rowsAffected
      else if (!(await isThere(tx, change, o))) conflicts.push(conflictOf(change))
    }
  }
  return applied
}

function statementOf({ table, kind, before, after }: Change): Statement {
  const name = quoteName(table.name)
  if (kind === "delete") return statement(`DELETE FROM ${name} WHERE `, conditions(table, before))
  if (kind === "insert") {
    const values = valuesOf(after).map(bind)
    const { where, params } = after.at
    const sql = `INSERT INTO ${name}(${quoteNames(writtenColumns(table))}) SELECT ${values.map(({ sql }) => sql).join(", ")} WHERE NOT EXISTS (SELECT 1 FROM ${name} ${where})`
    return { sql, params: [...values.map(({ param }) => param), ...params] }
  }
  const sets = table.columns.flatMap((column, index) => {
    const cell = after.cells[index] as Cell
    if (sameCell(before.cells[index] as Cell, cell) !== false) return []
    const { sql, param } = bind(cell)
    return [{ sql: `${quoteName(column)} = ${sql}`, param }]
  })
  const update = `UPDATE ${name} SET ${sets.map(({ sql }) => sql).join(", ")} WHERE `
  return statement(
    update,
    conditions(table, before),
    sets.map(({ param }) => param),
  )
}

/** @param params of what comes before the conditions */
function statement(sql: string, where: readonly Condition[], params: readonly Bound["param"][] = []): Statement {
  const conditions = allOf(where.map(({ sql }) => sql))
  return { sql: sql + conditions, params: [...params, ...where.flatMap(({ param }) => param)] }
}

interface Condition {
  readonly sql: string
  readonly param: Bound["param"][]
}

/** The row of this key, if every value is the same to the byte; one that is too large is known by its length. */
function conditions(table: Table, row: ScannedRow): Condition[] {
  const key = { sql: row.at.where.replace(/^WHERE /, ""), param: [...row.at.params] }
  const cells = table.columns.map((column, index) => {
    const cell = row.cells[index] as Cell
    const name = quoteName(column)
    if (isLarge(cell)) return { sql: `octet_length(${name}) = ?`, param: [cell.length] }
    const { sql, param } = bind(cell)
    return { sql: `${name} IS ${sql} COLLATE BINARY`, param: [param] }
  })
  return [key, ...cells]
}

/** Whether the target has the outcome already. */
async function isThere(tx: Transaction, { table, before, after }: Change, o: CallOptions): Promise<boolean> {
  const name = quoteName(table.name)
  const { sql, params } = after
    ? statement(`SELECT 1 FROM ${name} WHERE `, conditions(table, after))
    : { sql: `SELECT 1 FROM ${name} ${before.at.where}`, params: before.at.params }
  const found = await tx.query(sql, params, o).first()
  return after ? found !== undefined : found === undefined
}

function conflictOf({ table, kind, before, after }: Change): Conflict {
  const row = before ?? after
  const key = table.key.map(({ name }) => plain(row.rowid ?? (row.cells[table.columns.indexOf(name)] as Cell)))
  return { table: table.name, kind, key }
}

function plain(cell: Cell): Conflict["key"][number] {
  if (!isBytes(cell)) return cell
  if (!cell.bytes) throw new AgentDBError("internal", "a key comes with its row")
  return cell.text ? new TextDecoder().decode(cell.bytes) : cell.bytes
}
