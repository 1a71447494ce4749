import { EventHandler } from "./event-handler.ts"
import { payloadOf } from "./payload.ts"
import { asString, socketUrl, subprotocols } from "./socket-arguments.ts"
import { type Dial, SocketLife } from "./socket-life.ts"

const states = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 }

/** The platform's limit: a control frame's payload less the code. */
const maxReasonBytes = 123

/** A class with the interface of `WebSocket` (WebSockets Standard), whose sockets are made by `dial`. */
export function defineWebSocket(dial: Dial): typeof WebSocket {
  const StandIn = class WebSocket extends EventTarget {
    readonly #url: URL
    readonly #protocol: string
    readonly #life: SocketLife
    readonly #onopen = new EventHandler(this, "open")
    readonly #onmessage = new EventHandler(this, "message")
    readonly #onerror = new EventHandler(this, "error")
    readonly #onclose = new EventHandler(this, "close")
    #binaryType: BinaryType = "blob"

    constructor(...args: unknown[]) {
      if (args.length === 0) throw new TypeError(`Failed to construct 'WebSocket': ${missing}`)
      const [url, protocols] = args
      const address = socketUrl(asString(url))
      const [protocol = ""] = subprotocols(protocols)
      super()
      this.#url = address
      this.#protocol = protocol
      // Not `this.dispatchEvent`, which a subclass may have made its own.
      const fire = (event: Event) => super.dispatchEvent(event)
      this.#life = new SocketLife(dial, {
        open: () => fire(new Event("open")),
        message: (frame) => fire(new MessageEvent("message", { data: this.#dataOf(frame), origin: address.origin })),
        error: () => fire(new Event("error")),
        close: (init) => fire(new CloseEvent("close", init)),
      })
    }

    get url() {
      return this.#url.href
    }
    get readyState() {
      return this.#life.readyState
    }
    get bufferedAmount() {
      return this.#life.bufferedAmount
    }
    get extensions() {
      // Read for its brand only, so that the prototype itself throws, as the platform's does.
      return this.#life && ""
    }
    /** The first one asked for: a browser fails a connection whose server selects none. */
    get protocol() {
      return this.#life.readyState === states.CONNECTING ? "" : this.#protocol
    }
    get binaryType() {
      return this.#binaryType
    }
    set binaryType(value) {
      const type = asString(value)
      if (type === "blob" || type === "arraybuffer") this.#binaryType = type
    }
    get onopen() {
      return this.#onopen.value
    }
    set onopen(handler) {
      this.#onopen.value = handler
    }
    get onmessage() {
      return this.#onmessage.value
    }
    set onmessage(handler) {
      this.#onmessage.value = handler
    }
    get onerror() {
      return this.#onerror.value
    }
    set onerror(handler) {
      this.#onerror.value = handler
    }
    get onclose() {
      return this.#onclose.value
    }
    set onclose(handler) {
      this.#onclose.value = handler
    }

    send(...args: unknown[]): void {
      if (args.length === 0) throw new TypeError(`Failed to execute 'send' on 'WebSocket': ${missing}`)
      const payload = payloadOf(args[0])
      if (this.#life.readyState === states.CONNECTING) {
        throw new DOMException(
          "Failed to execute 'send' on 'WebSocket': Still in CONNECTING state.",
          "InvalidStateError",
        )
      }
      this.#life.send(payload)
    }

    close(code?: number, reason?: string): void {
      const given = code === undefined ? undefined : toCode(code)
      const text = reason === undefined ? "" : asString(reason)
      if (given !== undefined && given !== 1000 && (given < 3000 || given > 4999)) {
        throw refusedClose(
          `The close code must be either 1000, or between 3000 and 4999. ${given} is neither.`,
          "InvalidAccessError",
        )
      }
      const bytes = new TextEncoder().encode(text)
      if (bytes.byteLength > maxReasonBytes) {
        throw refusedClose(`The close reason must not be greater than ${maxReasonBytes} UTF-8 bytes.`, "SyntaxError")
      }
      this.#life.close(given, new TextDecoder().decode(bytes))
    }

    #dataOf(frame: Uint8Array<ArrayBuffer>): Blob | ArrayBuffer {
      if (this.#binaryType === "blob") return new Blob([frame])
      return frame.byteLength === frame.buffer.byteLength ? frame.buffer : frame.slice().buffer
    }
  }
  shapeAsInterface(StandIn)
  return StandIn as unknown as typeof WebSocket
}

const missing = "1 argument required, but only 0 present."

/** As WebIDL converts with [Clamp]: to the nearest whole number, to the even one of two. */
function toCode(given: unknown): number {
  const clamped = Math.min(Math.max(Number(given), 0), 0xffff)
  const floor = Math.floor(clamped)
  const rest = clamped - floor
  if (Number.isNaN(clamped)) return 0
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}

const refusedClose = (why: string, name: string) =>
  new DOMException(`Failed to execute 'close' on 'WebSocket': ${why}`, name)

/** What a class written here lacks of a WebIDL interface: constants, enumerable members, a tag. */
function shapeAsInterface(type: { readonly prototype: EventTarget }): void {
  const { prototype } = type
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (name !== "constructor") Object.defineProperty(prototype, name, { ...descriptor, enumerable: true })
  }
  for (const [name, value] of Object.entries(states)) {
    for (const holder of [type, prototype]) Object.defineProperty(holder, name, { value, enumerable: true })
  }
  Object.defineProperty(prototype, Symbol.toStringTag, { value: "WebSocket", configurable: true })
  Object.defineProperty(type, "length", { value: 1, configurable: true })
}
