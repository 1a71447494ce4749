/** Between two starts that nobody asked for, so that a worker which dies at once doesn't spin. */
const restartMs = 5_000

/** A start that nobody waits for: handles that are open go on by themselves. */
export class Restart {
  readonly #start: () => void
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(start: () => void) {
    this.#start = start
  }

  /** @param since when the attempt before began, on the clock of `performance.now` */
  plan(since: number): void {
    this.cancel()
    this.#timer = setTimeout(this.#start, Math.max(0, since + restartMs - performance.now()))
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }
}
