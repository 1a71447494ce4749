/** Why a statement was ended by us. */
export type StopReason = "canceled" | "deadline_exceeded"

/** What one request allows its statements. All times in ms. */
export interface RunContext {
  /** Running time so far, over all steps; the time between steps is not counted. */
  ranMs: number
  /** Running time allowed. */
  limitMs: number
  /** Set when the statement was ended by us. */
  stopped: StopReason | undefined
  /** On the clock of `performance.now()`. */
  deadline?: number
  /** Polled while a statement runs, from inside the engine: it decides itself how often it does costly work. */
  isCanceled?(ranMs: number): boolean
}

/** Told how long a statement has run and how long it may. */
export type BusyListener = (ranMs: number, limitMs: number) => void

/** Opcodes between two polls: some tens of microseconds. */
export const opcodesPerPoll = 1000

const heartbeatMs = 1000

/** What SQLite's progress handler does. The engine has one thread, so one context at most is running. */
export class Interrupt {
  onBusy: ((ranMs: number, limitMs: number) => void) | undefined
  #run: RunContext | undefined
  #startedAt = 0
  #heartbeatAt = 0
  /** The limit that the last heartbeat spoke of. */
  #toldLimitMs = 0
  /** Time since `enter`, as the last poll found it. */
  polledMs = 0

  /** Everything the engine executes until `leave` counts for `run`. */
  enter(run: RunContext): void {
    this.#run = run
    this.#startedAt = performance.now()
    this.polledMs = 0
    // Many short statements in a row keep the worker from its event loop as one long one does.
    this.#beatIfDue(run, run.ranMs, this.#startedAt)
  }

  leave(): void {
    if (this.#run) this.#run.ranMs += performance.now() - this.#startedAt
    this.#run = undefined
  }

  /** Non-zero ends the statement. Never throws: an exception must not unwind the engine's stack. */
  poll(): number {
    const run = this.#run
    if (!run) return 0
    const now = performance.now()
    this.polledMs = now - this.#startedAt
    const ranMs = run.ranMs + this.polledMs
    if (ranMs > run.limitMs || (run.deadline !== undefined && now > run.deadline)) run.stopped = "deadline_exceeded"
    else if (asksToStop(run, ranMs)) run.stopped = "canceled"
    this.#beatIfDue(run, ranMs, now)
    return run.stopped ? 1 : 0
  }

  #beatIfDue(run: RunContext, ranMs: number, now: number): void {
    // A lower limit is told at once: the patience that an earlier statement asked for must not cover this one.
    if (now - this.#heartbeatAt < heartbeatMs && run.limitMs >= this.#toldLimitMs) return
    this.#heartbeatAt = now
    this.#toldLimitMs = run.limitMs
    try {
      // What was used up by earlier statements of the same request is not this one's.
      this.onBusy?.(ranMs, run.limitMs - run.ranMs)
    } catch {
      // A listener that fails costs its own heartbeat and nothing else.
    }
  }
}

function asksToStop(run: RunContext, ranMs: number): boolean {
  try {
    return run.isCanceled?.(ranMs) ?? false
  } catch {
    return false
  }
}
