import { randomId } from "../../wire/random-id.ts"

type Wrapped =
  /** The side that was asked is there: what is said before it listens would be lost. */
  { readonly ready: true } | { readonly message: unknown }

/** Stands in a message for a MessagePort that was transferred with it. */
const marker = "agentdb:port"

/**
 * The likeness of a MessagePort between two tabs, over a BroadcastChannel that only they have open: for where a real
 * port can't be handed over. Buffers are copied. Ports that are transferred stay where they are, and their messages
 * travel on a channel of their own.
 */
export class BroadcastPort extends EventTarget {
  readonly #channel: BroadcastChannel
  readonly #relays = new Set<Relay>()
  #early: unknown[] | undefined
  #closed = false

  /** The end that is there first. It keeps what is sent until the other end is there. */
  static offer(name: string): BroadcastPort {
    return new BroadcastPort(name, true)
  }

  /** The other end. */
  static answer(name: string): BroadcastPort {
    return new BroadcastPort(name, false)
  }

  private constructor(name: string, waits: boolean) {
    super()
    this.#early = waits ? [] : undefined
    this.#channel = new BroadcastChannel(`agentdb:port:${name}`)
    this.#channel.onmessage = ({ data }: MessageEvent<Wrapped>) => this.#receive(data)
    if (!waits) this.#channel.postMessage({ ready: true } satisfies Wrapped)
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    if (this.#closed) return
    const ports = transfer.filter((item) => item instanceof MessagePort)
    const names = new Map(ports.map((port) => [port, randomId()]))
    for (const [port, name] of names) this.#relay(port, BroadcastPort.offer(name))
    const packed = names.size > 0 ? replace(message, (value) => portMark(names, value)) : message
    if (this.#early) this.#early.push(packed)
    else this.#channel.postMessage({ message: packed } satisfies Wrapped)
  }

  /** Ends the ports that were transferred, too. The other end does not hear of it. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#channel.close()
    for (const relay of this.#relays) relay.end()
  }

  #receive(data: Wrapped): void {
    if ("ready" in data) {
      const early = this.#early ?? []
      this.#early = undefined
      for (const message of early) this.#channel.postMessage({ message } satisfies Wrapped)
      return
    }
    const ports: MessagePort[] = []
    const message = replace(data.message, (value) => {
      const name = markedName(value)
      if (name === undefined) return undefined
      const { port1, port2 } = new MessageChannel()
      this.#relay(port1, BroadcastPort.answer(name))
      ports.push(port2)
      return port2
    })
    this.dispatchEvent(new MessageEvent("message", { data: message, ports }))
  }

  #relay(port: MessagePort, far: BroadcastPort): void {
    const relay = new Relay(port, far, () => this.#relays.delete(relay))
    this.#relays.add(relay)
  }
}

/** Passes messages on between a port and its likeness, until one of them says its last. */
class Relay {
  readonly #port: MessagePort
  readonly #far: BroadcastPort
  readonly #onend: () => void
  #lastId: unknown

  constructor(port: MessagePort, far: BroadcastPort, onend: () => void) {
    this.#port = port
    this.#far = far
    this.#onend = onend
    port.onmessage = ({ data, ports }) => {
      far.postMessage(data, [...ports])
      this.#passed(data)
    }
    far.addEventListener("message", (event) => {
      const { data, ports } = event as MessageEvent
      port.postMessage(data, data instanceof ArrayBuffer ? [data] : [...ports])
      this.#passed(data)
    })
  }

  end(): void {
    this.#port.close()
    this.#far.close()
    this.#onend()
  }

  /** Links end with a close notice, what is hung up with "end", borrowed callbacks with the answer to their release. */
  #passed(data: unknown): void {
    if (data === "end") this.end()
    if (typeof data !== "object" || data === null) return
    const { type, id } = data as { type?: unknown; id?: unknown }
    if ("close" in data || (id !== undefined && id === this.#lastId)) this.end()
    else if (type === "RELEASE") this.#lastId = id
  }
}

function portMark(names: Map<MessagePort, string>, value: object): unknown {
  const name = names.get(value as MessagePort)
  return name === undefined ? undefined : { [marker]: name }
}

function markedName(value: object): string | undefined {
  const name = (value as { [marker]?: unknown })[marker]
  return typeof name === "string" ? name : undefined
}

/** A copy of a message of plain objects and arrays, with what `by` knows put in place of what it was. */
function replace(value: unknown, by: (value: object) => unknown): unknown {
  if (typeof value !== "object" || value === null) return value
  const other = by(value)
  if (other !== undefined) return other
  if (Array.isArray(value)) return value.map((item) => replace(item, by))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replace(item, by)]))
}
