import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"
import { afterQuiet, type Clock } from "./clock.ts"
import type { OpenDatabase } from "./open-database.ts"
import type { Stream } from "./stream.ts"

type State =
  | { readonly name: "none" }
  | { readonly name: "open"; readonly tip: number; disarm(): void }
  /** It ended without the client's word; every statement is refused until a rollback or commit. */
  | { readonly name: "aborted"; readonly why: string }

/** Frames that wait in a busy worker are given this long to be read before a socket is judged idle. */
const graceMs = 50

/** The interactive transaction of one socket. */
export class Transaction {
  readonly #open: OpenDatabase
  readonly #limits: Limits
  readonly #clock: Clock
  #state: State = { name: "none" }
  #lastActive = 0
  /** Streams that read on the transaction's own connection. */
  readonly streams = new Set<Stream>()

  constructor(open: OpenDatabase, limits: Limits, clock: Clock) {
    this.#open = open
    this.#limits = limits
    this.#clock = clock
  }

  get isOpen(): boolean {
    return this.#state.name === "open"
  }

  /** The sequence that the transaction began at. */
  get tip(): number {
    return this.#state.name === "open" ? this.#state.tip : this.#open.database.tip
  }

  /** A frame of the socket came. */
  touch(): void {
    this.#lastActive = this.#clock.now()
  }

  /** Whether a statement runs inside. Throws `aborted` where it must not run at all. */
  enter(): boolean {
    // A stream may have met the failure that ended it.
    this.noteEngineRollback()
    if (this.#state.name === "aborted") throw this.#aborted(this.#state.why)
    return this.isOpen
  }

  /** Throws where a begin has no place. */
  checkMayBegin(): void {
    if (this.enter()) throw new AgentDBError("failed_precondition", "a transaction is already open on this socket")
  }

  /** Begins. The caller holds the write turn, which is the transaction's from here on. */
  begin(): void {
    const { writer, tip } = this.#open.database
    try {
      writer.run("BEGIN IMMEDIATE")
    } catch (error) {
      this.#open.turn.release()
      throw error
    }
    writer.resetCounters()
    this.touch()
    this.#state = { name: "open", tip, disarm: this.#armLimits() }
  }

  /** @param beforeEnd takes the transaction's streams ahead. */
  commit(beforeEnd: () => void): void {
    const why = this.#acknowledgeAbort()
    if (why !== undefined) throw this.#aborted(why)
    beforeEnd()
    try {
      this.#open.database.writer.run("COMMIT")
    } catch (error) {
      const { code, message } = AgentDBError.from(error)
      if (!this.#open.database.writer.inTransaction) throw error
      throw new AgentDBError(code, `${message}; the transaction is still open`, { cause: error })
    }
    this.#end()
    this.#open.committed()
  }

  /** @param beforeEnd takes the transaction's streams ahead. */
  rollback(beforeEnd: () => void): void {
    if (this.#acknowledgeAbort() !== undefined) return
    beforeEnd()
    this.#open.database.writer.run("ROLLBACK")
    this.#end()
  }

  /** After an error: has the engine ended the transaction by itself? */
  noteEngineRollback(): void {
    if (this.isOpen && this.#open.alive && !this.#open.database.writer.inTransaction)
      this.#abort("the engine rolled it back")
  }

  /** The socket is gone. */
  abandon(): void {
    if (!this.isOpen) return
    const { alive, database } = this.#open
    if (alive && database.writer.inTransaction) database.writer.run("ROLLBACK")
    this.#end()
  }

  /** Clears an aborted transaction and returns why it ended. Throws where there is none at all. */
  #acknowledgeAbort(): string | undefined {
    if (this.#state.name === "none") {
      throw new AgentDBError("failed_precondition", "no transaction is open on this socket")
    }
    if (this.#state.name === "open") return undefined
    const { why } = this.#state
    this.#state = { name: "none" }
    return why
  }

  #abort(why: string): void {
    // What was taken ahead is from before and may go on; what still reads cannot.
    for (const stream of [...this.streams]) if (stream.reading) stream.end(this.#aborted(why))
    this.abandon()
    this.#state = { name: "aborted", why }
  }

  #end(): void {
    if (this.#state.name !== "open") return
    this.#state.disarm()
    this.#state = { name: "none" }
    this.streams.clear()
    if (this.#open.alive) this.#open.database.writer.resetLocals()
    this.#open.turn.release()
  }

  #aborted(why: string): AgentDBError {
    return new AgentDBError("aborted", `the transaction is over: ${why}; nothing of it is stored`)
  }

  #armLimits(): () => void {
    const { txIdleMs, txTotalMs } = this.#limits
    const disarmTotal = this.#clock.after(txTotalMs, () => this.#abort(`it was open for ${txTotalMs} ms`))
    let disarmIdle = () => {}
    const watchIdle = (ms: number) => {
      disarmIdle = this.#clock.after(ms, () => {
        const left = this.#lastActive + txIdleMs - this.#clock.now()
        if (left > 0) watchIdle(left)
        else disarmIdle = afterQuiet(this.#clock, graceMs, judge)
      })
    }
    const judge = () => {
      const left = this.#lastActive + txIdleMs - this.#clock.now()
      if (left > 0) watchIdle(left)
      else this.#abort(`it was idle for ${txIdleMs} ms`)
    }
    watchIdle(txIdleMs)
    return () => {
      disarmTotal()
      disarmIdle()
    }
  }
}
