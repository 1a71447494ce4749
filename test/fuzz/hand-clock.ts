import { macrotask } from "../../src/link/macrotask.ts"
import type { Clock } from "../../src/server/clock.ts"

interface Timer {
  readonly at: number
  readonly order: number
  readonly task: () => void
}

/** A clock that a test moves. */
export class HandClock implements Clock {
  #now: number
  #order = 0
  readonly #timers = new Set<Timer>()

  /** @param now milliseconds since 1970 */
  constructor(now = Date.now()) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  after(ms: number, task: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, task }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Fires what falls due, in order, each in a turn of the event loop of its own. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#timers.delete(next)
      // Two that advance at once never turn it back.
      this.#now = Math.max(this.#now, next.at)
      next.task()
      for (let turn = 0; turn < 8; turn++) await new Promise<void>(macrotask)
    }
    this.#now = Math.max(this.#now, end)
  }

  #next(end: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0]
  }
}
