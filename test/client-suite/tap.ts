import { decodeClientMessage, decodeServerMessage, type Frame } from "agentdb-web"
import type { Link } from "agentdb-web/client"
import { encodeServerMessage } from "../../src/wire/frames.ts"

/** A frame that passed, as far as cases ask. */
export interface Seen {
  readonly way: "sent" | "received"
  readonly requestId: number
  readonly kind: string
  /** Of an Exec or Query. */
  readonly sql: string | undefined
  /** Of a Credit. */
  readonly batches: number | undefined
}

/** A link with a witness: notes what passes, and can be cut as a network is. */
export class Tap implements Link {
  readonly log: Seen[] = []
  onclose: Link["onclose"]
  onsignal: Link["onsignal"]
  /** After a frame of this kind has left, the link is cut. */
  cutsAfterSending: string | undefined
  /** After a frame of this kind came, and was delivered, the link is cut. */
  cutsAfterReceiving: string | undefined
  /** The Hello never reaches the service: this comes back and the link closes, as at a handover. */
  refusesHello: { code: string; message: string } | undefined
  /** The first frame of this kind never reaches the service: `unavailable` comes back and the link closes behind it. */
  handsOver: string | undefined
  readonly #inner: Link
  #onframe: Link["onframe"]
  #over = false

  constructor(inner: Link) {
    this.#inner = inner
    inner.onclose = (close) => this.#end(close)
    inner.onsignal = (notice) => this.onsignal?.(notice)
  }

  get signals(): Link["signals"] {
    return this.#inner.signals
  }

  get onframe(): Link["onframe"] {
    return this.#onframe
  }

  set onframe(handler: Link["onframe"]) {
    this.#onframe = handler
    this.#inner.onframe = handler && ((frame) => this.#receive(frame))
  }

  get isOpen(): boolean {
    return !this.#over
  }

  send(frame: Frame): void {
    if (this.#over) return
    const { requestId, message } = decodeClientMessage(frame)
    const kind = message.case ?? "unset"
    this.log.push({
      way: "sent",
      requestId,
      kind,
      sql: message.case === "exec" || message.case === "query" ? message.value.sql : undefined,
      batches: message.case === "credit" ? message.value.batches : undefined,
    })
    if (kind === "hello" && this.refusesHello) {
      this.#refuse(requestId, this.refusesHello, 1008)
      return
    }
    if (kind === this.handsOver) {
      this.#refuse(requestId, { code: "unavailable", message: "handover" }, 1001)
      return
    }
    this.#inner.send(frame)
    if (kind === this.cutsAfterSending) queueMicrotask(() => this.cut())
  }

  signal(notice: Parameters<Link["signal"]>[0]): void {
    if (!this.#over) this.#inner.signal(notice)
  }

  close(code?: number, reason?: string): void {
    this.#over = true
    this.#inner.close(code, reason)
  }

  /** Ends the link for both sides; what was sent before still arrives there. */
  cut(): void {
    if (this.#over) return
    this.#inner.close(1001, "cut")
    this.#end({ code: 1006, reason: "cut" })
  }

  /** Frames that the client sent, in order, without those that keep a socket alive. */
  get sent(): Seen[] {
    return this.log.filter(({ way, kind }) => way === "sent" && kind !== "ping" && kind !== "hello")
  }

  get sentKinds(): string[] {
    return this.sent.map(({ kind }) => kind)
  }

  #receive(frame: Frame): void {
    if (this.#over) return
    const { requestId, message } = decodeServerMessage(frame)
    const kind = message.case ?? "unset"
    this.log.push({ way: "received", requestId, kind, sql: undefined, batches: undefined })
    this.#onframe?.(frame)
    if (kind === this.cutsAfterReceiving) this.cut()
  }

  #end(close: { code: number; reason: string }): void {
    if (this.#over) return
    this.#over = true
    this.onclose?.(close)
  }

  #refuse(requestId: number, error: { code: string; message: string }, closeCode: number): void {
    queueMicrotask(() => {
      if (this.#over) return
      this.#onframe?.(encodeServerMessage(requestId, { case: "error", value: error }))
      this.#inner.close()
      this.#end({ code: closeCode, reason: error.message })
    })
  }
}
