import type { AgentDBError } from "../../wire/errors.ts"

interface Waiter<T> {
  readonly since: number
  resolve(value: T): void
  reject(error: AgentDBError): void
}

/** Nobody waits longer than this without a sign that somebody gets a service up. Under 5 s with the tick. */
const patienceMs = 4_200
const tickMs = 250

/** Callers who wait for a service, for as long as there are signs that one comes. */
export class Arrival<T> {
  readonly #waiters = new Set<Waiter<T>>()
  readonly #onlate: () => AgentDBError
  #signAt = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param onlate says why nothing came. */
  constructor(onlate: () => AgentDBError) {
    this.#onlate = onlate
  }

  wait(): Promise<T> {
    this.#timer ??= setInterval(() => this.#tick(), tickMs)
    return new Promise((resolve, reject) => {
      this.#waiters.add({ since: performance.now(), resolve, reject })
    })
  }

  sign(): void {
    this.#signAt = performance.now()
  }

  /** For one who has nobody to wait for: it comes, however long it takes. */
  signUntil(settled: Promise<unknown>): void {
    const timer = setInterval(() => this.sign(), 1_000)
    settled.catch(() => {}).finally(() => clearInterval(timer))
  }

  arrive(value: T): void {
    for (const waiter of this.#take()) waiter.resolve(value)
  }

  fail(error: AgentDBError): void {
    for (const waiter of this.#take()) waiter.reject(error)
  }

  #take(): Waiter<T>[] {
    clearInterval(this.#timer)
    this.#timer = undefined
    const all = [...this.#waiters]
    this.#waiters.clear()
    return all
  }

  #tick(): void {
    const now = performance.now()
    const late = [...this.#waiters].filter(({ since }) => now - Math.max(since, this.#signAt) > patienceMs)
    if (late.length === 0) return
    const error = this.#onlate()
    for (const waiter of late) {
      this.#waiters.delete(waiter)
      waiter.reject(error)
    }
    if (this.#waiters.size === 0) this.#take()
  }
}
