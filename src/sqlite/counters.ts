import { Rc, TextEncoding } from "./constants.ts"
import type { Engine } from "./engine.ts"
import type { SqliteExports } from "./exports.ts"
import type { Heap } from "./heap.ts"

/** Functions of SQL as the engine calls them, by name: the context in, the result through the context. */
export function counterFunctions(sqlite: SqliteExports, heap: Heap): Record<string, (context: number) => void> {
  const sinceReset = (context: number): bigint => {
    const total = sqlite.sqlite3_total_changes64(sqlite.sqlite3_context_db_handle(context))
    return total - heap.i64(sqlite.sqlite3_user_data(context))
  }
  return {
    changes(context) {
      const db = sqlite.sqlite3_context_db_handle(context)
      // Where nothing was changed since, the engine's counter is that of an earlier statement.
      sqlite.sqlite3_result_int64(context, sinceReset(context) === 0n ? 0n : sqlite.sqlite3_changes64(db))
    },
    total_changes(context) {
      sqlite.sqlite3_result_int64(context, sinceReset(context))
    },
  }
}

/**
 * `changes()` and `total_changes()` of one connection, counted from the last `reset`: the engine's own cannot be set
 * back, and would tell each socket what the others changed, as the connection is shared.
 */
export class Counters {
  readonly #engine: Engine
  readonly #db: number
  /** Where the functions find the total at the last reset. */
  readonly #base: number

  /** @throws AgentDBError `SQLITE_NOMEM` */
  constructor(engine: Engine, db: number) {
    this.#engine = engine
    this.#db = db
    this.#base = engine.heap.allocate(8)
    this.reset()
    for (const [name, address] of engine.counterCallbacks) {
      const text = engine.heap.allocateText(name)
      const flags = TextEncoding.UTF8 | TextEncoding.INNOCUOUS
      const rc = engine.sqlite.sqlite3_create_function_v2(db, text.pointer, 0, flags, this.#base, address, 0, 0, 0)
      engine.heap.free(text.pointer)
      if (rc !== Rc.OK) throw engine.error(db, rc)
    }
  }

  reset(): void {
    this.#engine.heap.setI64(this.#base, this.#engine.sqlite.sqlite3_total_changes64(this.#db))
  }

  /** After the connection is closed. */
  free(): void {
    this.#engine.heap.free(this.#base)
  }
}
