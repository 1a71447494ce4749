import { isArrayBuffer } from "../wire/buffers.ts"
import type { Frame } from "../wire/frames.ts"
import { BaseLink } from "./base-link.ts"
import { type Close, CloseCode, type Link, type SignalNotice } from "./link.ts"

/**
 * A link over a MessagePort: a frame is one transferred ArrayBuffer, and notices
 * (close, signal) are plain objects, since a port reports no close of its own.
 */
export class PortLink extends BaseLink {
  readonly #port: MessagePort
  readonly signals: Link["signals"]

  /** @param signals `sab` only where a SharedArrayBuffer reaches the other side: its own worker, isolated. */
  constructor(port: MessagePort, signals: Link["signals"] = "blob") {
    super()
    this.#port = port
    // WebKitGTK calls pages isolated and has no SharedArrayBuffer for them.
    this.signals = signals === "sab" && typeof SharedArrayBuffer === "undefined" ? "blob" : signals
    port.onmessage = (event) => this.#receive(event.data)
    port.onmessageerror = () => this.#refuse("a message that cannot be read")
  }

  send(frame: Frame): void {
    if (this.inbox.closed) return
    const whole = frame.byteLength === frame.buffer.byteLength ? frame.buffer : frame.slice().buffer
    this.#port.postMessage(whole, [whole])
  }

  /** Sends text, which no service takes: it closes with 1003, as over a WebSocket. */
  sendText(text: string): void {
    if (!this.inbox.closed) this.#port.postMessage(text)
  }

  signal(notice: SignalNotice): void {
    if (!this.inbox.closed && this.signals !== "none") this.#port.postMessage({ signal: notice })
  }

  protected override end(close: Close): void {
    this.#port.postMessage({ close })
    this.#port.close()
  }

  #receive(data: unknown): void {
    if (isArrayBuffer(data)) {
      this.inbox.accept({ frame: new Uint8Array(data) })
      return
    }
    const close = closeNotice(data)
    const signal = signalNotice(data)
    if (close) {
      this.inbox.accept({ close })
      this.#port.close()
    } else if (signal) this.inbox.accept({ signal })
    else this.#refuse("frames are ArrayBuffers")
  }

  #refuse(reason: string): void {
    this.lost(CloseCode.notBinary, reason)
  }
}

function closeNotice(data: unknown): Close | undefined {
  if (typeof data !== "object" || data === null || !("close" in data)) return undefined
  const { close } = data
  if (typeof close !== "object" || close === null || !("code" in close)) return undefined
  if (typeof close.code !== "number") return undefined
  return { code: close.code, reason: "reason" in close && typeof close.reason === "string" ? close.reason : "" }
}

function signalNotice(data: unknown): SignalNotice | undefined {
  if (typeof data !== "object" || data === null || !("signal" in data)) return undefined
  const { signal } = data
  if (typeof signal !== "object" || signal === null) return undefined
  if ("sab" in signal) {
    const isShared = typeof SharedArrayBuffer !== "undefined" && signal.sab instanceof SharedArrayBuffer
    return isShared ? { sab: signal.sab as SharedArrayBuffer } : undefined
  }
  if ("probe" in signal) return typeof signal.probe === "string" ? { probe: signal.probe } : undefined
  if (!("requestId" in signal) || !("url" in signal)) return undefined
  if (typeof signal.requestId !== "number" || typeof signal.url !== "string") return undefined
  return { requestId: signal.requestId, url: signal.url }
}
