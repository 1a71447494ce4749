import type { Link } from "../link/link.ts"
import type { Frame } from "../wire/frames.ts"

interface Held {
  readonly frame: Frame
  /** The request whose last frame it is. */
  readonly ends: number | undefined
}

/**
 * The way out of a session. While the database has commits that are not flushed,
 * frames wait here in order: none that could have seen such a commit leaves before it is durable.
 */
export class Outbox {
  readonly #link: Link
  readonly #mustHold: () => boolean
  readonly #parked = new Set<() => void>()
  #held: Held[] = []

  constructor(link: Link, mustHold: () => boolean) {
    this.#link = link
    this.#mustHold = mustHold
    link.onwritable = () => this.#wake()
  }

  /** False while the peer does not keep up: whoever can wait should `park`. */
  get writable(): boolean {
    return this.#link.writable !== false
  }

  /** Calls `task` once when the peer has caught up: those who wait longest come first. */
  park(task: () => void): void {
    this.#parked.add(task)
  }

  unpark(task: () => void): void {
    this.#parked.delete(task)
  }

  /** @param ends the request whose last frame this is. */
  send(frame: Frame, ends?: number): void {
    if (this.#held.length > 0 || this.#mustHold()) this.#held.push({ frame, ends })
    else this.#link.send(frame)
  }

  /** Sends at once: for frames that tell nothing of the database. */
  sendNow(frame: Frame): void {
    this.#link.send(frame)
  }

  /** The flush is done. */
  release(): void {
    for (const { frame } of this.takeHeld()) this.#link.send(frame)
  }

  /** The flush failed: what was to be said is not true. Returns the requests whose end was among it. */
  discard(): number[] {
    return this.takeHeld().flatMap(({ ends }) => (ends === undefined ? [] : [ends]))
  }

  /** What waits, for whoever sends it in another way. */
  takeHeld(): readonly Held[] {
    const held = this.#held
    this.#held = []
    return held
  }

  #wake(): void {
    const parked = [...this.#parked]
    this.#parked.clear()
    for (const task of parked) task()
  }
}
