import { AgentDBError } from "../wire/errors.ts"
import { Action, DENY } from "./constants.ts"
import type { Heap } from "./heap.ts"
import { judgePragma } from "./pragmas.ts"

/** Where a statement runs: alone, in a socket's transaction, or as one of a Batch frame. */
export type StatementScope = "autocommit" | "transaction" | "batch"

const localFunctions = new Map([
  ["last_insert_rowid", "use last_insert_id of the result, or RETURNING"],
  ["changes", "use rows_affected of the result"],
  ["total_changes", "use rows_affected of the results"],
])

const temporary: ReadonlySet<number> = new Set([
  Action.CREATE_TEMP_INDEX,
  Action.CREATE_TEMP_TABLE,
  Action.CREATE_TEMP_TRIGGER,
  Action.CREATE_TEMP_VIEW,
])

const definitions: ReadonlySet<number> = new Set([
  Action.CREATE_INDEX,
  Action.CREATE_TABLE,
  Action.CREATE_TRIGGER,
  Action.CREATE_VIEW,
  Action.CREATE_VTABLE,
  Action.DROP_INDEX,
  Action.DROP_TABLE,
  Action.DROP_TRIGGER,
  Action.DROP_VIEW,
  Action.DROP_VTABLE,
  Action.ALTER_TABLE,
  Action.REINDEX,
  Action.ANALYZE,
])

const maintenance: ReadonlySet<number> = new Set([
  Action.CREATE_INDEX,
  Action.ALTER_TABLE,
  Action.REINDEX,
  Action.ANALYZE,
])

const frames = new Map([
  ["BEGIN", "Begin"],
  ["COMMIT", "Commit"],
  ["ROLLBACK", "Rollback"],
])

/**
 * Judges what one statement does, action by action, while SQLite prepares it and, for the statements that it makes
 * itself (virtual tables, pragma functions, VACUUM), while it runs. Remembers why it refused, as SQLite's own
 * message would only say "not authorized".
 */
export class StatementAuthorizer {
  /** Why the statement is refused. */
  refusal: AgentDBError | undefined
  /** Actions seen at all: VACUUM alone has none before it runs. */
  actions = 0
  defines = false
  maintains = false
  savepoint = false
  /** A pragma that stays on the connection was set. */
  setsLocal = false
  /** A function that is local to a connection appears in a view or trigger that the statement uses. */
  #indirectlyLocal: string | undefined
  #isPragma = false
  /** The outer statement is a plain VACUUM, which attaches a nameless database and copies everything into it. */
  vacuum = false
  /** Tables that the statement's own text inserts into, and all that it changes. */
  readonly inserted = new Set<string>()
  readonly changed = new Set<string>()
  readonly #heap: Heap
  readonly #scope: StatementScope

  constructor(heap: Heap, scope: StatementScope) {
    this.#heap = heap
    this.#scope = scope
  }

  /**
   * @param source address of the name of the trigger or view that the action is in; 0 for the statement's own text.
   * @returns what SQLite's authorizer callback returns.
   */
  judge(action: number, first: number, second: number, database: number, source: number): number {
    this.actions++
    if (action === Action.ATTACH) return this.#attach(first)
    if (this.vacuum) return 0
    if (definitions.has(action)) this.defines = true
    if (maintenance.has(action)) this.maintains = true
    if (temporary.has(action)) return this.refuseTemporary()
    switch (action) {
      case Action.INSERT:
      case Action.UPDATE:
      case Action.DELETE:
        return this.#change(action, this.#heap.text(first), this.#heap.text(database), source)
      case Action.READ:
        return isPageTable(this.#heap.text(first)) ? this.#deny("sqlite_dbpage is not available") : 0
      case Action.CREATE_VTABLE:
        return this.#heap.text(database) === "temp" ? this.refuseTemporary() : this.#module(this.#heap.text(second))
      case Action.PRAGMA:
        return this.#pragma(this.#heap.text(first).toLowerCase(), second !== 0)
      case Action.FUNCTION:
        return this.#function(this.#heap.text(second).toLowerCase(), source)
      case Action.TRANSACTION:
        return this.#transaction(this.#heap.text(first))
      case Action.SAVEPOINT:
        return this.#savepoint()
      case Action.DETACH:
        return this.#deny("DETACH is not available: a socket has one database")
    }
    return 0
  }

  /**
   * The statement is compiled and changes nothing, so it fires no trigger: what is local to its connection is then
   * in a view. A pragma only looks at views.
   */
  refuseIndirectlyLocal(): void {
    if (this.#indirectlyLocal === undefined || this.#isPragma) return
    this.#refuse("failed_precondition", this.#indirectlyLocal)
  }

  /** The outer statement is a VACUUM with a target. */
  refuseInto(): number {
    return this.#deny("VACUUM INTO is not available: use DumpDatabase")
  }

  /** The statement is about the temporary database. */
  refuseTemporary(): number {
    return this.#deny("TEMP objects are not available: reads and writes use different connections")
  }

  #refuse(code: "permission_denied" | "failed_precondition", message: string): number {
    this.refusal ??= new AgentDBError(code, message)
    return DENY
  }

  #deny(message: string): number {
    return this.#refuse("permission_denied", message)
  }

  #module(name: string): number {
    return isPageTable(name) ? this.#deny("sqlite_dbpage is not available") : 0
  }

  #attach(file: number): number {
    if (!this.vacuum) return this.#deny("ATTACH is not available: a socket has one database")
    return this.#heap.text(file) === "" ? 0 : this.refuseInto()
  }

  #change(action: number, table: string, database: string, source: number): number {
    if (isPageTable(table)) return this.#deny("sqlite_dbpage is not available")
    // Every temporary object begins as a row of this table. ALTER only updates it.
    if (action === Action.INSERT && database === "temp") return this.refuseTemporary()
    if (source !== 0) return 0
    this.changed.add(table)
    if (action === Action.INSERT) this.inserted.add(table)
    return 0
  }

  #pragma(name: string, hasArgument: boolean): number {
    this.#isPragma = true
    switch (judgePragma(name, hasArgument)) {
      case "allowed":
        return 0
      case "read-only":
        return this.#deny(`PRAGMA ${name} cannot be set`)
      case "unknown":
        return this.#deny(`PRAGMA ${name} is not available`)
      case "local":
        if (this.#scope === "autocommit") {
          return this.#refuse("failed_precondition", `PRAGMA ${name} works inside a transaction or batch only`)
        }
        if (hasArgument) this.setsLocal = true
        return 0
    }
  }

  #function(name: string, source: number): number {
    const instead = localFunctions.get(name)
    if (instead === undefined || this.#scope !== "autocommit") return 0
    const message = `${name}() means nothing outside a transaction or batch: ${instead}`
    if (source === 0) return this.#refuse("failed_precondition", message)
    // A trigger may ask; whether this is one shows when the whole statement is known.
    this.#indirectlyLocal ??= message
    return 0
  }

  #transaction(operation: string): number {
    const frame = frames.get(operation) ?? operation
    return this.#refuse("failed_precondition", `${operation} is not available as SQL: send a ${frame} frame`)
  }

  #savepoint(): number {
    this.savepoint = true
    if (this.#scope === "transaction") return 0
    const message =
      this.#scope === "batch"
        ? "savepoints are not available inside a batch, which is atomic by itself"
        : "savepoints work inside a transaction only: send a Begin frame first"
    return this.#refuse("failed_precondition", message)
  }
}

function isPageTable(name: string): boolean {
  return name.toLowerCase() === "sqlite_dbpage"
}
