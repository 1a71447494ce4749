import { type FrameSignals, frameSignals } from "../client/frame-signals.ts"
import { type Close, CloseCode, type Link } from "../link/link.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Frame } from "../wire/frames.ts"

/** What code under test may send; which realm it is of does not matter. */
export type Message = string | ArrayBufferLike | ArrayBufferView | Blob

/** The code under test's side of a socket. */
export interface Peer {
  /** Takes the frame's buffer. */
  send(frame: Frame): void
  /** Called once, unless the peer itself ended the socket. */
  close(close: Close): void
}

type State =
  | { readonly at: "dialing"; readonly waiting: Frame[] }
  /** The signals tell a worker that is inside a statement of a Cancel, whose frame it cannot read then. */
  | { readonly at: "open"; readonly link: Link; readonly signals: FrameSignals }
  | { readonly at: "ended" }

/** Joins a socket whose server is this process to the service. Closes pass with their codes, both ways. */
export class RoutedSocket {
  readonly #peer: Peer
  #state: State = { at: "dialing", waiting: [] }
  /** Set from the first Blob on, whose bytes come later: what is behind it waits. */
  #reading: Promise<void> | undefined

  constructor(dial: () => Promise<Link>, peer: Peer) {
    this.#peer = peer
    void this.#dial(dial)
  }

  /** The peer sent this; bytes are copied. */
  receive(message: Message): void {
    if (typeof message === "string") this.#inOrder(() => this.#end(notBinary))
    else if (isBlob(message)) this.#inOrder(async () => this.#take(new Uint8Array(await message.arrayBuffer())))
    else {
      const frame = copyOf(message)
      this.#inOrder(() => this.#take(frame))
    }
  }

  /** The peer closed, or is gone. */
  closed(code: number = CloseCode.normal, reason = ""): void {
    this.#inOrder(() => this.#leave({ code, reason }))
  }

  #inOrder(work: () => void | Promise<void>): void {
    const after = this.#reading ? this.#reading.then(work) : work()
    // A browser drops the connection, too, over a Blob that it cannot read.
    this.#reading = after?.catch(() => this.#end({ code: CloseCode.internal, reason: "a Blob cannot be read" }))
  }

  async #dial(dial: () => Promise<Link>): Promise<void> {
    let link: Link
    try {
      link = await dial()
    } catch (error) {
      this.#end({ code: CloseCode.goingAway, reason: AgentDBError.from(error).message })
      return
    }
    if (this.#state.at !== "dialing") {
      link.close()
      return
    }
    const { waiting } = this.#state
    const signals = frameSignals(link)
    this.#state = { at: "open", link, signals }
    link.onclose = (close) => this.#end(close)
    link.onframe = (frame) => {
      signals.received(frame)
      this.#peer.send(frame)
    }
    for (const frame of waiting) this.#take(frame)
  }

  #take(frame: Frame): void {
    const state = this.#state
    if (state.at === "dialing") state.waiting.push(frame)
    else if (state.at === "open") {
      // Before the frame itself: the worker may be inside a statement, and then reads only the signal.
      state.signals.sending(frame)
      state.link.send(frame)
    }
  }

  #end(close: Close): void {
    if (this.#state.at === "ended") return
    this.#leave(close)
    this.#peer.close(close)
  }

  #leave({ code, reason }: Close): void {
    const state = this.#state
    this.#state = { at: "ended" }
    if (state.at !== "open") return
    state.signals.end()
    state.link.close(code, reason)
  }
}

const notBinary: Close = { code: CloseCode.notBinary, reason: "frames are binary" }

const isBlob = (message: Exclude<Message, string>): message is Blob => "arrayBuffer" in message

function copyOf(message: ArrayBufferLike | ArrayBufferView): Frame {
  const bytes = ArrayBuffer.isView(message)
    ? new Uint8Array(message.buffer, message.byteOffset, message.byteLength)
    : new Uint8Array(message)
  return Uint8Array.from(bytes)
}
