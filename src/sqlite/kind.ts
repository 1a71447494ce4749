import type { StatementAuthorizer } from "./authorizer.ts"
import { Rc } from "./constants.ts"
import type { Engine } from "./engine.ts"

/** What a statement is, by the engine's own account and never by its first word. */
export interface StatementKind {
  /** It changes nothing in the file. */
  readonly readonly: boolean
  readonly explain: boolean
  /** Its own text inserts, so that the engine's last rowid is its result. */
  readonly inserts: boolean
  /** INSERT, UPDATE, DELETE or REPLACE: the engine's count of changes is its result. */
  readonly changesRows: boolean
  /** It creates, drops, alters, reindexes or analyzes. */
  readonly ddl: boolean
  /** SAVEPOINT, RELEASE or ROLLBACK TO. */
  readonly savepoint: boolean
  /** CREATE INDEX, VACUUM, REINDEX, ANALYZE or ALTER: it may run for longer. */
  readonly maintenance: boolean
  readonly vacuum: boolean
}

export function classify(engine: Engine, statement: number, sql: string, actions: StatementAuthorizer): StatementKind {
  const { sqlite } = engine
  const explain = sqlite.sqlite3_stmt_isexplain(statement) !== 0
  const changesNothing = sqlite.sqlite3_stmt_readonly(statement) !== 0
  // VACUUM writes and tells the authorizer nothing before it runs.
  const vacuum = !explain && !changesNothing && actions.actions === 0 && isVacuum(engine, statement, actions)
  // That of the temporary database compiles to nothing at all, with a target or without: only its text is left.
  if (!explain && !vacuum && actions.actions === 0 && firstWord(sql) === "vacuum") actions.refuseTemporary()
  const ddl = !explain && actions.defines
  const changesRows = !explain && !changesNothing && !ddl && actions.changed.size > 0
  const savepoint = !explain && actions.savepoint
  return {
    readonly: explain || (changesNothing && !savepoint && !actions.setsLocal && !ddl),
    explain,
    inserts: changesRows && actions.inserted.size > 0,
    changesRows,
    ddl,
    savepoint,
    maintenance: vacuum || (!explain && actions.maintains),
    vacuum,
  }
}

/**
 * Asks the statement's own program, as VACUUM INTO would show its target to the authorizer only while it runs:
 * column 1 of EXPLAIN is the opcode and column 3 its second operand, the register that holds the target.
 */
function isVacuum(engine: Engine, statement: number, actions: StatementAuthorizer): boolean {
  const { heap, sqlite } = engine
  let found = false
  if (sqlite.sqlite3_stmt_explain(statement, 1) !== Rc.OK) return false
  while (sqlite.sqlite3_step(statement) === Rc.ROW) {
    if (heap.text(sqlite.sqlite3_column_text(statement, 1)) !== "Vacuum") continue
    found = true
    if (sqlite.sqlite3_column_double(statement, 3) !== 0) actions.refuseInto()
  }
  sqlite.sqlite3_reset(statement)
  sqlite.sqlite3_stmt_explain(statement, 0)
  return found
}

/** Of SQL that compiles, in lower case: what is before it is whitespace, comments and `;`. */
function firstWord(sql: string): string {
  const blank = /[\s;]+|--[^\n]*|\/\*[\s\S]*?\*\//y
  let at = 0
  while (blank.test(sql)) at = blank.lastIndex
  const word = /\w*/y
  word.lastIndex = at
  return word.exec(sql)?.[0].toLowerCase() ?? ""
}
