import type { AgentDB_Wire_Value as WireValue } from "../gen/livekit_agentdb_pb.ts"
import type { ColumnBatchWriter } from "../wire/column-batch-writer.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { StatementAuthorizer } from "./authorizer.ts"
import { bindAll } from "./bind.ts"
import type { Connection } from "./connection.ts"
import { Rc } from "./constants.ts"
import type { RunContext } from "./interrupt.ts"
import type { StatementKind } from "./kind.ts"
import { appendRow } from "./row.ts"

export type { StatementKind } from "./kind.ts"

/** How far a batch is filled, in bytes of its frame. */
export interface BatchSize {
  /** Enough: stop after the row that reaches it. */
  readonly targetBytes: number
  readonly maxFrameBytes: number
  /** Stop after the row during which so much time had passed, so that the caller can serve others; default never. */
  readonly sliceMs?: number
}

/** before: never stepped. row: one stands. appended: one stands that is in a batch already. ended: nothing more. */
type State = "before" | "row" | "appended" | "ended"

/** One statement, from prepare to finalize. After an error only `finalize` is left. */
export class PreparedStatement {
  readonly kind: StatementKind
  readonly #connection: Connection
  readonly #authorizer: StatementAuthorizer | undefined
  #pointer: number
  #state: State = "before"

  constructor(
    connection: Connection,
    pointer: number,
    kind: StatementKind,
    authorizer: StatementAuthorizer | undefined,
  ) {
    this.#connection = connection
    this.#pointer = pointer
    this.kind = kind
    this.#authorizer = authorizer
    connection.adopt(this)
  }

  /** True if it sets a pragma that stays on its connection until `resetLocals`. */
  get setsLocal(): boolean {
    return this.#authorizer?.setsLocal ?? false
  }

  /** Exact after the first step only: another connection may have altered the table since `prepare`. */
  get columnCount(): number {
    return this.#connection.engine.sqlite.sqlite3_column_count(this.#pointer)
  }

  /**
   * @throws AgentDBError `invalid_argument` if the count differs or a value is unset
   */
  bind(params: readonly WireValue[]): void {
    bindAll(this.#connection.engine, this.#connection.handle, this.#pointer, params)
  }

  /**
   * @returns true if a row stands, false at the end; in autocommit the end of a write is its commit.
   * @throws AgentDBError SQLite's code, or `canceled` or `deadline_exceeded` if `run` ended it
   */
  step(run: RunContext): boolean {
    if (this.#state === "ended") return false
    this.#enter(run)
    try {
      return this.#settle(this.#run(), run)
    } finally {
      this.#leave()
    }
  }

  /** Read them after the first step: before it a statement may still tell the names it was prepared with. */
  columnNames(): string[] {
    const { heap, sqlite } = this.#connection.engine
    return Array.from({ length: this.columnCount }, (_, i) => heap.text(sqlite.sqlite3_column_name(this.#pointer, i)))
  }

  /**
   * Steps and appends until the batch is full or the statement at its end, starting with a row that already stands
   * and was not appended. The running time is taken once, which makes a row several times cheaper than `step` does.
   * @returns "full" if there may be more rows. The batch then has one row at least.
   * @throws AgentDBError as `step`, and `resource_exhausted` for a row that fits no frame; rows appended before the failure stay in the batch.
   */
  fill(batch: ColumnBatchWriter, size: BatchSize, run: RunContext): "full" | "done" {
    if (this.#state === "ended") return "done"
    const { sliceMs = Number.POSITIVE_INFINITY } = size
    const { heap, interrupt, sqlite } = this.#connection.engine
    this.#enter(run)
    try {
      for (;;) {
        if (this.#state !== "row") {
          if (!this.#settle(this.#run(), run)) return "done"
        }
        if (!appendRow(sqlite, heap, this.#pointer, batch, size.maxFrameBytes)) return "full"
        this.#state = "appended"
        if (batch.byteLength >= size.targetBytes || interrupt.polledMs >= sliceMs) return "full"
      }
    } finally {
      this.#leave()
    }
  }

  /**
   * Whether another row stands: the one that did not fit, or else the next, which is stepped to.
   * @throws AgentDBError as `step`
   */
  advance(run: RunContext): boolean {
    return this.#state === "row" || this.step(run)
  }

  /** A value of the row that stands, for statements of our own. */
  number(column: number): number {
    return this.#connection.engine.sqlite.sqlite3_column_double(this.#pointer, column)
  }

  text(column: number): string {
    const { heap, sqlite } = this.#connection.engine
    return heap.text(sqlite.sqlite3_column_text(this.#pointer, column))
  }

  /** A view of the heap: copy it before the next call. */
  blob(column: number): Uint8Array {
    const { heap, sqlite } = this.#connection.engine
    const start = sqlite.sqlite3_column_blob(this.#pointer, column)
    return heap.bytes.subarray(start, start + sqlite.sqlite3_column_bytes(this.#pointer, column))
  }

  /** Idempotent. Of a write in autocommit that was not stepped to its end this is the commit. */
  finalize(): void {
    if (this.#pointer === 0) return
    this.#connection.engine.sqlite.sqlite3_finalize(this.#pointer)
    this.#pointer = 0
    this.#state = "ended"
    this.#connection.release(this)
  }

  #run(): number {
    const { engine } = this.#connection
    try {
      return engine.sqlite.sqlite3_step(this.#pointer)
    } catch (error) {
      throw engine.trapped(error)
    }
  }

  #enter(run: RunContext): void {
    if (this.#pointer === 0) throw new AgentDBError("internal", "the statement is finalized")
    this.#connection.engine.authorizer = this.#authorizer
    this.#connection.engine.interrupt.enter(run)
  }

  #leave(): void {
    this.#connection.engine.interrupt.leave()
    this.#connection.engine.authorizer = undefined
  }

  #settle(rc: number, run: RunContext): boolean {
    if (rc === Rc.ROW) {
      this.#state = "row"
      return true
    }
    this.#state = "ended"
    if (rc === Rc.DONE) return false
    if (run.stopped !== undefined && (rc & 0xff) === Rc.INTERRUPT) {
      throw stopped(run, run.ranMs + this.#connection.engine.interrupt.polledMs)
    }
    throw this.#authorizer?.refusal ?? this.#connection.engine.error(this.#connection.handle, rc)
  }
}

function stopped(run: RunContext, ranMs: number): AgentDBError {
  return run.stopped === "canceled"
    ? new AgentDBError("canceled", "canceled")
    : new AgentDBError("deadline_exceeded", `the statement was ended after running for ${Math.round(ranMs)} ms`)
}
