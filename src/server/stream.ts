import { AgentDBError } from "../wire/errors.ts"
import type { Frame } from "../wire/frames.ts"
import { maxCredit } from "./request.ts"
import { CapturedSource, CursorSource, type RowSource } from "./row-source.ts"
import type { RunQueue } from "./run-queue.ts"

/** A way out that may be slower than what comes. */
export interface Outlet {
  /** False while the peer does not keep up. */
  readonly writable: boolean
  /** Calls `task` once when it is writable again. */
  park(task: () => void): void
  unpark(task: () => void): void
}

/** What a stream tells its session. */
export interface StreamOutput {
  readonly outlet: Outlet
  frame(frame: Frame): void
  /** All rows are out. */
  done(totalRows: number): void
  failed(error: AgentDBError): void
}

/** An answer on its way out, paced by credit and by what the link takes. */
export class Stream {
  #source: RowSource
  #credit: number
  #totalRows = 0
  #ended = false
  readonly #queue: RunQueue
  readonly #output: StreamOutput
  readonly #turn = () => this.#step()
  readonly #goOn = () => this.#schedule()

  constructor(source: RowSource, credit: number, queue: RunQueue, output: StreamOutput) {
    this.#source = source
    this.#credit = credit
    this.#queue = queue
    this.#output = output
  }

  /** Waits for its peer: nothing more can leave until credit comes, or until the link takes more. */
  get stalled(): boolean {
    return this.#needsCredit || !this.#output.outlet.writable
  }

  /** Whether a statement is still open under it. */
  get reading(): boolean {
    return this.#source instanceof CursorSource
  }

  /** Bytes of rows that were taken ahead. */
  get capturedBytes(): number {
    return this.#source instanceof CapturedSource ? this.#source.bytes : 0
  }

  /** Sends what may leave now and goes on in later turns. */
  start(): void {
    this.#step()
  }

  addCredit(batches: number): void {
    this.#credit = Math.min(maxCredit, this.#credit + batches)
    this.#schedule()
  }

  /** Takes the rest of the rows now, before something changes what the statement would see. */
  capture(maxBytes: number): void {
    if (this.#ended || !(this.#source instanceof CursorSource)) return
    try {
      this.#source = this.#source.capture(maxBytes)
    } catch (error) {
      this.end(AgentDBError.from(error))
    }
  }

  /** Ends it early. Without an error nobody is told. */
  end(error?: AgentDBError): void {
    if (this.#ended) return
    this.#ended = true
    this.#queue.remove(this.#turn)
    this.#output.outlet.unpark(this.#goOn)
    this.#source.close()
    if (error) this.#output.failed(error)
  }

  #step(): void {
    try {
      // What costs nothing goes along; a batch ends this turn.
      while (!this.#ended && !this.stalled) {
        const { costs } = this.#source
        const { frame, rows, done } = this.#source.produce()
        if (frame) {
          if (costs) this.#credit--
          this.#totalRows += rows
          this.#output.frame(frame)
        }
        if (done) {
          this.#finish()
          return
        }
        if (costs) break
      }
    } catch (error) {
      this.end(AgentDBError.from(error))
      return
    }
    this.#schedule()
  }

  get #needsCredit(): boolean {
    return this.#credit === 0 && this.#source.costs
  }

  /** The next turn, where there can be one; else whoever is waited for comes back here. */
  #schedule(): void {
    if (this.#ended || this.#needsCredit) return
    if (this.#output.outlet.writable) this.#queue.add(this.#turn)
    else this.#output.outlet.park(this.#goOn)
  }

  #finish(): void {
    this.#ended = true
    this.#source.close()
    this.#output.done(this.#totalRows)
  }
}
