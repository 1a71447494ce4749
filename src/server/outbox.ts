import type { Link } from "../link/link.ts"
import type { Frame } from "../wire/frames.ts"

/**
 * The way out of a session. While the database has commits that are not flushed,
 * frames wait here in order: none that could have seen such a commit leaves before it is durable.
 */
export class Outbox {
  readonly #link: Link
  readonly #mustHold: () => boolean
  #held: { frame: Frame; ends: number | undefined }[] = []

  constructor(link: Link, mustHold: () => boolean) {
    this.#link = link
    this.#mustHold = mustHold
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
    const held = this.#held
    this.#held = []
    for (const { frame } of held) this.#link.send(frame)
  }

  /** The flush failed: what was to be said is not true. Returns the requests whose end was among it. */
  discard(): number[] {
    const held = this.#held
    this.#held = []
    return held.flatMap(({ ends }) => (ends === undefined ? [] : [ends]))
  }
}
