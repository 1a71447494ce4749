import type { Sqlite3Static } from "@sqlite.org/sqlite-wasm"
import { AgentDBError } from "../wire/errors.ts"
import type { StatementAuthorizer } from "./authorizer.ts"
import { DENY } from "./constants.ts"
import { counterFunctions } from "./counters.ts"
import type { SqliteExports } from "./exports.ts"
import type { Heap } from "./heap.ts"
import { type BusyListener, Interrupt } from "./interrupt.ts"
import type { Vfs } from "./vfs/vfs.ts"

export interface EngineParts {
  readonly module: Sqlite3Static
  readonly sqlite: SqliteExports
  readonly heap: Heap
  readonly vfs: Vfs
  readonly heapLimitBytes: number
}

/** SQLITE_CORRUPT_VTAB and _SEQUENCE are not among them: SQL can bring those about in a file that is whole. */
const isDamage = /^SQLITE_(?:CORRUPT(?:_INDEX)?|NOTADB)$/

/** One instance of SQLite with its VFS: one per worker, for all of its databases. */
export class Engine {
  readonly sqlite: SqliteExports
  readonly heap: Heap
  readonly vfs: Vfs
  readonly interrupt = new Interrupt()
  /** Bytes of wasm memory that SQLite may hold; above, statements fail with SQLITE_NOMEM. */
  readonly heapLimitBytes: number
  /** Frees what is bound without copying it once more: the address of sqlite3_free. */
  readonly freeDestructor: number
  /** Addresses of the callbacks that every connection shares. */
  readonly authorizerCallback: number
  readonly progressCallback: number
  /** Addresses of the SQL functions of `Counters`, by name. */
  readonly counterCallbacks: ReadonlyMap<string, number>
  /** Who judges the actions of the statement that is being prepared or stepped; nobody judges our own. */
  authorizer: StatementAuthorizer | undefined
  readonly #module: Sqlite3Static

  constructor({ module, sqlite, heap, vfs, heapLimitBytes }: EngineParts) {
    this.#module = module
    this.sqlite = sqlite
    this.heap = heap
    this.vfs = vfs
    this.heapLimitBytes = heapLimitBytes
    this.freeDestructor = Number(module.capi.SQLITE_WASM_DEALLOC)
    const install = (signature: string, callback: (...args: number[]) => unknown): number =>
      Number(module.wasm.installFunction(signature, callback))
    this.authorizerCallback = install("i(pipppp)", (_arg, action, first, second, database, source) => {
      try {
        return (
          this.authorizer?.judge(
            action as number,
            first as number,
            second as number,
            database as number,
            source as number,
          ) ?? 0
        )
      } catch {
        // An exception must not unwind the engine's stack.
        return DENY
      }
    })
    this.progressCallback = install("i(p)", () => this.interrupt.poll())
    this.counterCallbacks = new Map(
      Object.entries(counterFunctions(sqlite, heap)).map(([name, call]) => [
        name,
        install("v(pip)", (context) => call(context as number)),
      ]),
    )
  }

  /** Called when the engine has trapped: its memory is not to be trusted any more, so its host should start anew. */
  onTrap: (() => void) | undefined

  /** The error that a request gets for a trap inside the engine. */
  trapped(cause: unknown): AgentDBError {
    this.onTrap?.()
    return new AgentDBError("internal", "the SQL engine failed and is started anew; the outcome is unknown", { cause })
  }

  /** Called at most once a second while a statement runs: the worker cannot answer anyone else then. */
  get onBusy(): BusyListener | undefined {
    return this.interrupt.onBusy
  }

  set onBusy(listener: BusyListener | undefined) {
    this.interrupt.onBusy = listener
  }

  /** SQLite's name of a result code, extended where it is. */
  codeName(rc: number): string {
    const name = this.#module.capi.sqlite3_js_rc_str(rc) ?? this.#module.capi.sqlite3_js_rc_str(rc & 0xff)
    return name ?? "SQLITE_ERROR"
  }

  /** The error that `rc` stands for (`data_loss` where the file is not what was written), with the message of the connection's last failure. */
  error(db: number, rc: number): AgentDBError {
    const extended = db === 0 ? rc : this.sqlite.sqlite3_extended_errcode(db)
    // The connection may already tell of something else, such as a rollback after the failure.
    const code = (extended & 0xff) === (rc & 0xff) ? extended : rc
    const message = db === 0 ? this.codeName(rc) : this.heap.text(this.sqlite.sqlite3_errmsg(db))
    const name = this.codeName(code)
    return isDamage.test(name)
      ? new AgentDBError("data_loss", `the database is damaged: ${message} (${name})`)
      : new AgentDBError(name, message)
  }
}
