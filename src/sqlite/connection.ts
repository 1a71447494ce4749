import { AgentDBError } from "../wire/errors.ts"
import type { StatementScope } from "./authorizer.ts"
import { DBCONFIG_DEFENSIVE, OpenFlag, Rc } from "./constants.ts"
import { Counters } from "./counters.ts"
import type { Engine } from "./engine.ts"
import { opcodesPerPoll } from "./interrupt.ts"
import { prepareOwn, prepareStatement } from "./prepare.ts"
import type { PreparedStatement } from "./statement.ts"
import type { Mount } from "./vfs/mount.ts"

export type { StatementScope } from "./authorizer.ts"

export type ConnectionRole = "writer" | "reader"

/** Page cache in KiB, per connection. */
const cacheKib = { writer: 4096, reader: 2048 }

/** One SQLite connection of a database, and the statements that were prepared on it. */
export class Connection {
  readonly engine: Engine
  readonly role: ConnectionRole
  readonly #mount: Mount
  readonly #statements = new Set<PreparedStatement>()
  #db: number
  #counters: Counters | undefined
  #localsSet = false

  /** @throws AgentDBError with SQLite's code if the file cannot be used. */
  constructor(engine: Engine, mount: Mount, role: ConnectionRole) {
    this.engine = engine
    this.role = role
    this.#mount = mount
    this.#db = openHandle(engine, mount.files.path)
    try {
      this.#configure()
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Address of the sqlite3, 0 once closed. */
  get handle(): number {
    return this.#db
  }

  /**
   * Prepares the one statement that `sql` has to be. Whoever prepares it finalizes it.
   * @throws AgentDBError `invalid_argument` (none, more than one, U+0000), `permission_denied` or
   * `failed_precondition` (what the protocol refuses), SQLite's own codes for the rest.
   */
  prepare(sql: string, scope: StatementScope): PreparedStatement {
    this.#check()
    const statement = prepareStatement(this, sql, scope)
    if (statement.setsLocal) this.#localsSet = true
    return statement
  }

  /** A statement of our own: nobody judges it. */
  prepareOwn(sql: string): PreparedStatement {
    this.#check()
    return prepareOwn(this, sql)
  }

  /** Statements of our own that return nothing. */
  run(sql: string): void {
    this.#check()
    const { heap, sqlite } = this.engine
    const text = heap.allocateText(sql)
    const rc = sqlite.sqlite3_exec(this.#db, text.pointer, 0, 0, 0)
    heap.free(text.pointer)
    if (rc !== Rc.OK) throw this.engine.error(this.#db, rc)
  }

  /** True between BEGIN and the end of the transaction, whoever ended it. */
  get inTransaction(): boolean {
    return this.#db !== 0 && this.engine.sqlite.sqlite3_get_autocommit(this.#db) === 0
  }

  get lastInsertRowid(): bigint {
    return this.engine.sqlite.sqlite3_last_insert_rowid(this.#db)
  }

  /**
   * The connection is shared: without this an insert that was ignored would report another socket's id, and
   * `changes()` what another socket changed.
   */
  resetCounters(): void {
    this.engine.sqlite.sqlite3_set_last_insert_rowid(this.#db, 0n)
    this.#counters?.reset()
  }

  /** Rows that the last INSERT, UPDATE or DELETE changed; stale after anything else. */
  get changes(): bigint {
    return this.engine.sqlite.sqlite3_changes64(this.#db)
  }

  /** Puts back what a transaction or batch may have set on the connection. */
  resetLocals(): void {
    if (!this.#localsSet) return
    this.run("PRAGMA defer_foreign_keys=OFF; PRAGMA recursive_triggers=OFF")
    this.#localsSet = false
  }

  /** For the statement itself, so that closing finds those that are left. */
  adopt(statement: PreparedStatement): void {
    this.#statements.add(statement)
  }

  release(statement: PreparedStatement): void {
    this.#statements.delete(statement)
  }

  /** Finalizes what is left and closes. Never throws. */
  close(): void {
    for (const statement of [...this.#statements]) statement.finalize()
    if (this.#db !== 0) this.engine.sqlite.sqlite3_close_v2(this.#db)
    this.#db = 0
    this.#counters?.free()
    this.#counters = undefined
  }

  #configure(): void {
    const { sqlite, authorizerCallback, progressCallback, heapLimitBytes } = this.engine
    sqlite.sqlite3__wasm_db_config_ip(this.#db, DBCONFIG_DEFENSIVE, 1, 0)
    this.run(`
      PRAGMA hard_heap_limit=${heapLimitBytes};
      PRAGMA cache_size=-${cacheKib[this.role]};
      PRAGMA temp_store=FILE;
      PRAGMA synchronous=NORMAL;
      PRAGMA wal_autocheckpoint=0;
      PRAGMA foreign_keys=ON;
      PRAGMA recursive_triggers=OFF;
      PRAGMA trusted_schema=OFF;
      ${this.role === "reader" ? "PRAGMA query_only=ON" : ""}`)
    // Readers never change anything, and refuse the functions that tell.
    if (this.role === "writer") this.#counters = new Counters(this.engine, this.#db)
    sqlite.sqlite3_set_authorizer(this.#db, authorizerCallback, 0)
    sqlite.sqlite3_progress_handler(this.#db, opcodesPerPoll, progressCallback, 0)
  }

  #check(): void {
    if (this.#db === 0) throw new AgentDBError("internal", "the connection is closed")
    const { syncFailure } = this.#mount
    if (syncFailure !== undefined) throw new AgentDBError(this.engine.codeName(syncFailure), "disk I/O error")
  }
}

function openHandle(engine: Engine, path: string): number {
  const { heap, sqlite, vfs } = engine
  const name = heap.allocateText(path)
  const out = heap.allocate(4)
  heap.setU32(out, 0)
  const flags = OpenFlag.READWRITE | OpenFlag.EXRESCODE
  const rc = sqlite.sqlite3_open_v2(name.pointer, out, flags, vfs.namePointer)
  const db = heap.u32(out)
  heap.free(out)
  heap.free(name.pointer)
  if (rc === Rc.OK) return db
  const error = engine.error(db, rc)
  sqlite.sqlite3_close_v2(db)
  throw error
}
