import { isArrayBuffer } from "../wire/buffers.ts"
import type { Frame } from "../wire/frames.ts"
import { BaseLink } from "./base-link.ts"
import { type Close, CloseCode, type SignalNotice } from "./link.ts"

/** Not every class has its constants on its sockets, too. */
const connecting = 0

/** A link over a WebSocket. Frames sent while it is still connecting wait for the open. */
export class SocketLink extends BaseLink {
  readonly signals = "none"
  readonly #socket: WebSocket
  #waiting: Frame[] = []

  constructor(socket: WebSocket) {
    super()
    this.#socket = socket
    socket.binaryType = "arraybuffer"
    socket.onopen = () => {
      for (const frame of this.#waiting.splice(0)) socket.send(frame)
    }
    socket.onmessage = (event) => {
      if (isArrayBuffer(event.data)) this.inbox.accept({ frame: new Uint8Array(event.data) })
      else this.lost(CloseCode.notBinary, "frames are binary")
    }
    // A close follows. In Node, where a class may be an EventEmitter, an error that nobody hears ends the process.
    socket.onerror = () => {}
    socket.onclose = (event) => this.inbox.accept({ close: { code: event.code, reason: event.reason } })
  }

  send(frame: Frame): void {
    if (this.inbox.closed) return
    if (this.#socket.readyState === connecting) this.#waiting.push(frame)
    else this.#socket.send(frame)
  }

  signal(_notice: SignalNotice): void {}

  protected override end({ code, reason }: Close): void {
    this.#waiting = []
    // A page may close with 1000 and 3000 to 4999 only; every other code means the same to the server.
    const allowed = code === CloseCode.normal || (code >= 3000 && code < 5000)
    this.#socket.close(allowed ? code : CloseCode.normal, reason.slice(0, 40))
  }
}
