import type { MessagePort } from "node:worker_threads"
import { BaseLink } from "../link/base-link.ts"
import type { Close, SignalNotice } from "../link/link.ts"
import { isArrayBuffer } from "../wire/buffers.ts"
import type { Frame } from "../wire/frames.ts"

type Message =
  | ArrayBuffer
  | { readonly close: Close }
  | { readonly signal: SignalNotice }
  /** Cost of frames that the sender of this has let go. */
  | { readonly taken: number }

/** What a frame costs beside its bytes, in queues and closures, so that a bound on bytes bounds many small ones too. */
const frameOverhead = 4096
/** News of what was taken are gathered up to this; no low mark is below it, so what is held back wakes nobody late. */
const noticeCost = 256 * 1024

/** Bytes that a frame counts for. */
export const costOf = (frame: Frame): number => frame.byteLength + frameOverhead

/** When a sender stops and goes on, by the cost of what the other side has not taken yet. */
export interface Pace {
  readonly high: number
  readonly low: number
}

/**
 * A socket's way between the main thread and the worker. Both ends count what the
 * other has not taken yet, so that `writable` holds whatever lies between: this port,
 * the WebSocket's buffer, the peer.
 */
export class TunnelLink extends BaseLink {
  readonly signals = "sab"
  readonly #port: MessagePort
  readonly #pace: Pace
  readonly #takesAtOnce: boolean
  #untaken = 0
  #full = false
  #owed = 0

  /** @param takes "by hand" where the owner calls `take` for each frame that it has let go. */
  constructor(port: MessagePort, pace: Pace, takes: "at once" | "by hand") {
    super()
    this.#port = port
    this.#pace = pace
    this.#takesAtOnce = takes === "at once"
    port.on("message", (message: Message) => this.#receive(message))
  }

  override get writable(): boolean {
    return !this.#full
  }

  send(frame: Frame): void {
    if (this.inbox.closed) return
    this.#untaken += costOf(frame)
    if (this.#untaken > this.#pace.high) this.#full = true
    const whole = frame.byteLength === frame.buffer.byteLength ? frame.buffer : frame.slice().buffer
    this.#port.postMessage(whole, [whole])
  }

  signal(notice: SignalNotice): void {
    this.#post({ signal: notice })
  }

  /** Makes room for the other side to send more. */
  take(cost: number): void {
    this.#owed += cost
    if (this.#owed < noticeCost) return
    this.#post({ taken: this.#owed })
    this.#owed = 0
  }

  protected override end(close: Close): void {
    this.#port.postMessage({ close } satisfies Message)
    this.#port.close()
  }

  #post(message: Message): void {
    if (!this.inbox.closed) this.#port.postMessage(message)
  }

  #receive(message: Message): void {
    if (isArrayBuffer(message)) {
      const frame = new Uint8Array(message)
      const cost = costOf(frame)
      this.inbox.accept({ frame })
      if (this.#takesAtOnce) this.take(cost)
    } else if ("taken" in message) this.#makeRoom(message.taken)
    else if ("close" in message) {
      this.inbox.accept(message)
      this.#port.close()
    } else this.inbox.accept(message)
  }

  #makeRoom(cost: number): void {
    this.#untaken -= cost
    if (!this.#full || this.#untaken > this.#pace.low) return
    this.#full = false
    this.onwritable?.()
  }
}
