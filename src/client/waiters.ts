import type { AgentDBError } from "../wire/errors.ts"
import type { Stop } from "./stop.ts"
import { after } from "./timers.ts"

interface Waiter<T> {
  go(value: T): void
  fail(error: AgentDBError): void
}

/**
 * Calls that wait for something, first come first served. Each acts synchronously at
 * its turn, so a call that is made later never gets ahead of it.
 */
export class Waiters<T> {
  readonly #waiting = new Set<Waiter<T>>()

  get size(): number {
    return this.#waiting.size
  }

  /** Acts at its turn, or rejects with `late()` after `ms`, or when it is stopped. */
  wait<R>(act: (value: T) => Promise<R>, ms: number, late: () => AgentDBError, stop?: Stop): Promise<R> {
    return new Promise((resolve, reject) => {
      if (stop?.error) throw stop.error
      const leave = () => {
        this.#waiting.delete(waiter)
        clear()
        off?.()
      }
      const waiter: Waiter<T> = {
        go: (value) => {
          leave()
          resolve(act(value))
        },
        fail: (error) => {
          leave()
          reject(error)
        },
      }
      this.#waiting.add(waiter)
      const clear = after(ms, () => waiter.fail(late()))
      const off = stop?.onstop(waiter.fail)
    })
  }

  /** Lets the first go. */
  next(value: T): void {
    for (const waiter of this.#waiting) {
      waiter.go(value)
      return
    }
  }

  failAll(error: AgentDBError): void {
    for (const waiter of [...this.#waiting]) waiter.fail(error)
  }
}
