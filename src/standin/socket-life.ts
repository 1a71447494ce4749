import { type FrameSignals, frameSignals } from "../client/frame-signals.ts"
import type { AgentDB } from "../host/agentdb.ts"
import { later } from "./later.ts"
import { Outgoing } from "./outgoing.ts"
import type { Payload } from "./payload.ts"

/** The service's end of a socket. */
export type ServiceLink = Awaited<ReturnType<AgentDB["openLink"]>>

/** Makes the link of a new socket; rejects if the service can't be reached. */
export type Dial = () => Promise<ServiceLink>

/** What a socket lets its owner know; each call is a task of its own. */
export interface SocketEvents {
  open(): void
  message(frame: Uint8Array<ArrayBuffer>): void
  error(): void
  close(init: Required<Pick<CloseEventInit, "code" | "reason" | "wasClean">>): void
}

type State =
  | { readonly kind: "connecting" }
  | { readonly kind: "open"; readonly link: ServiceLink }
  | { readonly kind: "closing"; readonly link?: ServiceLink }
  | { readonly kind: "closed" }

const readyStates = { connecting: 0, open: 1, closing: 2, closed: 3 } as const

/** Codes that no peer ever sends: they stand for a close without a code, and for none at all. */
const noCode = 1005
const lost = { code: 1006, reason: "", wasClean: false }

/** A socket from its dial to its one `close`. The link holds it until then, whoever else lets it go. */
export class SocketLife {
  readonly #events: SocketEvents
  readonly #outgoing: Outgoing
  #state: State = { kind: "connecting" }
  /** So that a Cancel reaches a statement that keeps the worker busy. */
  #signals: FrameSignals | undefined

  constructor(dial: Dial, events: SocketEvents) {
    this.#events = events
    this.#outgoing = new Outgoing({ pass: (body) => this.#pass(body), fail: () => this.#fail() })
    void this.#connect(dial)
  }

  get readyState(): number {
    return readyStates[this.#state.kind]
  }

  get bufferedAmount(): number {
    return this.#outgoing.buffered
  }

  /** Sends when open; drops, and counts, what comes after `close`. */
  send(payload: Payload): void {
    if (this.#state.kind === "open") this.#outgoing.push(payload)
    else this.#outgoing.discard(payload)
  }

  /** Closes behind what was sent. */
  close(code: number | undefined, reason: string): void {
    const state = this.#state
    if (state.kind === "connecting") {
      this.#state = { kind: "closing" }
      later(() => this.#fail())
    } else if (state.kind === "open") {
      const { link } = state
      this.#state = { kind: "closing", link }
      this.#outgoing.whenEmpty(() => {
        // The service can't be told of a close without a code.
        link.close(code ?? 1000, reason)
        later(() => this.#finish({ code: code ?? noCode, reason, wasClean: true }))
      })
    }
  }

  async #connect(dial: Dial): Promise<void> {
    try {
      const link = await dial()
      later(() => this.#opened(link))
    } catch {
      later(() => this.#fail())
    }
  }

  #opened(link: ServiceLink): void {
    if (this.#state.kind !== "connecting") {
      link.close()
      return
    }
    this.#state = { kind: "open", link }
    const signals = frameSignals(link)
    this.#signals = signals
    this.#events.open()
    link.onclose = ({ code, reason, lost }) => {
      later(() => (lost ? this.#fail() : this.#finish({ code, reason, wasClean: true })))
    }
    // Last, since what came early is delivered at once.
    link.onframe = (frame) => {
      signals.received(frame)
      if (this.#state.kind === "open") this.#events.message(frame)
    }
  }

  #pass(body: string | Uint8Array<ArrayBuffer>): void {
    const { link } = this.#state as { link?: ServiceLink }
    if (typeof body === "string") link?.sendText(body)
    else {
      // Before the frame itself: the worker may be inside a statement, and then reads only the signal.
      this.#signals?.sending(body)
      link?.send(body)
    }
  }

  #fail(): void {
    if (this.#state.kind === "open" || this.#state.kind === "closing") this.#state.link?.close()
    this.#finish(lost, true)
  }

  #finish(init: typeof lost, failed = false): void {
    if (this.#state.kind === "closed") return
    this.#state = { kind: "closed" }
    this.#outgoing.stop()
    this.#signals?.end()
    if (failed) this.#events.error()
    this.#events.close(init)
  }
}
