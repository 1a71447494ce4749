import { macrotask } from "../link/macrotask.ts"

/**
 * Streams that have work to do, one step each in turn. Between steps the worker
 * goes back to its event loop, so that no stream starves another socket.
 */
export class RunQueue {
  readonly #tasks = new Set<() => void>()
  #scheduled = false

  /** Runs `task` once in a later turn; adding it again before that changes nothing. */
  add(task: () => void): void {
    this.#tasks.add(task)
    this.#schedule()
  }

  remove(task: () => void): void {
    this.#tasks.delete(task)
  }

  #schedule(): void {
    if (this.#scheduled || this.#tasks.size === 0) return
    this.#scheduled = true
    macrotask(() => {
      this.#scheduled = false
      const [task] = this.#tasks
      if (!task) return
      this.#tasks.delete(task)
      try {
        task()
      } finally {
        this.#schedule()
      }
    })
  }
}
