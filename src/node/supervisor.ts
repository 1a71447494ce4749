import type { AgentDBError } from "../wire/errors.ts"
import type { Log } from "./log.ts"
import { type LifeOptions, WorkerLife } from "./worker-life.ts"

/** Between two starts, so that a worker which dies at once does not spin. */
const restartMs = 5_000

/** Keeps one worker running. A dead one is replaced, empty. */
export class Supervisor {
  readonly #options: LifeOptions
  readonly #log: Log
  #life: WorkerLife | undefined
  #restart: ReturnType<typeof setTimeout> | undefined
  #closed = false

  constructor(options: LifeOptions, log: Log) {
    this.#options = options
    this.#log = log
  }

  /** The worker that serves, or is about to: what it is sent waits. Undefined after `close`, and for a while after a death. */
  get life(): WorkerLife | undefined {
    return this.#life
  }

  /** Rejects with an AgentDBError if the first worker cannot serve. */
  async start(): Promise<void> {
    const life = this.#spawn()
    await life.ready
    life.onlost = (error) => this.#lost(life, error)
  }

  /** Ends the worker, its databases closed; idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#restart)
    const life = this.#life
    this.#life = undefined
    await life?.stop()
  }

  #spawn(): WorkerLife {
    this.#life = new WorkerLife(this.#options)
    return this.#life
  }

  #lost(dead: WorkerLife, { message }: AgentDBError): void {
    this.#life = undefined
    this.#log.warn(`${message}; it is started again, and every database that it held in memory is lost`)
    const lived = performance.now() - dead.startedAt
    this.#restart = setTimeout(
      () => {
        if (this.#closed) return
        const life = this.#spawn()
        life.onlost = (error) => this.#lost(life, error)
      },
      Math.max(0, restartMs - lived),
    )
  }
}
