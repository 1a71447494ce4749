import { AgentDBError } from "../wire/errors.ts"
import { after, longestDelay } from "./timers.ts"
import type { CallOptions } from "./types.ts"

/** Why a call should stop before its end: its caller's signal, its deadline, or a wider stop around it. */
export class Stop {
  #error: AgentDBError | undefined
  readonly #listeners = new Set<(error: AgentDBError) => void>()
  readonly #undo: (() => void)[] = []

  /** Undefined where nothing could ever stop the call. */
  static of(options: CallOptions | undefined, parent?: Stop): Stop | undefined {
    return parent || options?.signal || options?.timeoutMs !== undefined ? new Stop(options, parent) : undefined
  }

  /** @throws TypeError for a `timeoutMs` that is no number of milliseconds. */
  constructor(options: CallOptions = {}, parent?: Stop) {
    const { signal, timeoutMs } = options
    if (timeoutMs !== undefined && !(timeoutMs >= 0)) throw new TypeError(`timeoutMs: ${timeoutMs}`)
    if (parent) this.#undo.push(parent.onstop((error) => this.stop(error)))
    if (signal) this.#follow(signal)
    if (this.#error || timeoutMs === undefined || timeoutMs > longestDelay) return
    const late = () => this.stop(new AgentDBError("deadline_exceeded", `not done after ${timeoutMs} ms`))
    if (timeoutMs === 0) late()
    else this.#undo.push(after(timeoutMs, late))
  }

  #follow(signal: AbortSignal): void {
    const abort = () => this.stop(new AgentDBError("canceled", "canceled by the caller", { cause: signal.reason }))
    if (signal.aborted) {
      abort()
      return
    }
    signal.addEventListener("abort", abort)
    this.#undo.push(() => signal.removeEventListener("abort", abort))
  }

  /** Set once it has stopped. */
  get error(): AgentDBError | undefined {
    return this.#error
  }

  stop(error: AgentDBError): void {
    if (this.#error) return
    this.#error = error
    for (const listener of [...this.#listeners]) listener(error)
    this.dispose()
  }

  /** Calls at once if it has stopped already. The result takes the listener back. */
  onstop(listener: (error: AgentDBError) => void): () => void {
    if (this.#error) listener(this.#error)
    else this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Settles as `promise` does, or rejects as soon as it stops. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const off = this.onstop(reject)
      promise.then(resolve, reject).finally(off)
    })
  }

  /** The call has ended: lets the signal, the timer and the listeners go. */
  dispose(): void {
    for (const undo of this.#undo.splice(0)) undo()
    this.#listeners.clear()
  }
}
