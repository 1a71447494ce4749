import type { Frame } from "../wire/frames.ts"
import { BaseLink } from "./base-link.ts"
import type { Close, SignalNotice } from "./link.ts"
import { macrotask } from "./macrotask.ts"

/** One end of an in-memory pair. Behaves as a port does: in order, later, and the sender's buffer is detached. */
class MemoryLink extends BaseLink {
  readonly signals = typeof SharedArrayBuffer === "undefined" ? "none" : "sab"
  peer: MemoryLink | undefined

  send(frame: Frame): void {
    if (this.inbox.closed) return
    const whole = frame.byteLength === frame.buffer.byteLength ? frame.buffer : frame.slice().buffer
    const moved = structuredClone(whole, { transfer: [whole] })
    this.#post({ frame: new Uint8Array(moved) })
  }

  signal(notice: SignalNotice): void {
    if (!this.inbox.closed) this.#post({ signal: notice })
  }

  protected override end(close: Close): void {
    this.#post({ close })
  }

  #post(event: Parameters<MemoryLink["inbox"]["accept"]>[0]): void {
    const { peer } = this
    macrotask(() => peer?.inbox.accept(event))
  }
}

/** Two links that are each other's peer, in one thread. */
export function createLinkPair(): [BaseLink, BaseLink] {
  const a = new MemoryLink()
  const b = new MemoryLink()
  a.peer = b
  b.peer = a
  return [a, b]
}
