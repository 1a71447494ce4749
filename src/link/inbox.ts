import type { Frame } from "../wire/frames.ts"
import type { Close, SignalNotice } from "./link.ts"

type Event = { frame: Frame } | { close: Close } | { signal: SignalNotice }

/** The receiving half of a link: keeps what comes before there is a handler, and closes once. */
export class Inbox {
  #onframe: ((frame: Frame) => void) | undefined
  #early: Event[] = []
  #closed = false
  onclose: ((close: Close) => void) | undefined
  onsignal: ((notice: SignalNotice) => void) | undefined

  get onframe(): ((frame: Frame) => void) | undefined {
    return this.#onframe
  }

  set onframe(handler: ((frame: Frame) => void) | undefined) {
    this.#onframe = handler
    if (!handler) return
    for (const event of this.#early.splice(0)) this.#deliver(event)
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Takes an event in arrival order; nothing is taken after a close. */
  accept(event: Event): void {
    if (this.#closed) return
    if ("close" in event) this.#closed = true
    if (this.#onframe) this.#deliver(event)
    else this.#early.push(event)
  }

  /** From here on nothing is delivered. */
  shut(): void {
    this.#closed = true
    this.#early = []
    this.#onframe = undefined
    this.onclose = undefined
    this.onsignal = undefined
  }

  #deliver(event: Event): void {
    if ("frame" in event) this.#onframe?.(event.frame)
    else if ("close" in event) this.onclose?.(event.close)
    else this.onsignal?.(event.signal)
  }
}
