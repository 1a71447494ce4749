import { later } from "./later.ts"
import type { Payload } from "./payload.ts"

interface Sink {
  /** Takes the next message, in the order of `push`. */
  pass(body: string | Uint8Array<ArrayBuffer>): void
  /** A Blob could not be read; nothing after it is passed. */
  fail(): void
}

/** Messages on their way out, in order though the bytes of a Blob take a while, and `bufferedAmount`. */
export class Outgoing {
  readonly #sink: Sink
  #queue: Payload[] = []
  #state: "ready" | "reading" | "stopped" = "ready"
  #onempty: (() => void) | undefined
  #buffered = 0
  /** Bytes that were passed in this task: they count until it ends. */
  #passed = 0

  constructor(sink: Sink) {
    this.#sink = sink
  }

  /** Bytes that were given and have not left, for good if they never will. */
  get buffered(): number {
    return this.#buffered
  }

  push(payload: Payload): void {
    this.#buffered += payload.bytes
    this.#queue.push(payload)
    if (this.#state === "ready") this.#pump()
  }

  /** Counts a message that comes too late to be sent. */
  discard({ bytes }: Payload): void {
    this.#buffered += bytes
  }

  /** Calls `task` when everything before it has been passed. */
  whenEmpty(task: () => void): void {
    this.#onempty = task
    if (this.#state === "ready") this.#pump()
  }

  /** Passes nothing more. */
  stop(): void {
    this.#state = "stopped"
    this.#queue = []
    this.#onempty = undefined
    this.#settle()
  }

  #pump(): void {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      if (typeof next.body !== "string" && "arrayBuffer" in next.body) {
        void this.#read(next.body, next.bytes)
        return
      }
      this.#pass(next.body, next.bytes)
    }
    this.#onempty?.()
  }

  async #read(blob: Blob, bytes: number): Promise<void> {
    this.#state = "reading"
    const body = await blob.arrayBuffer().then(
      (buffer) => new Uint8Array(buffer),
      () => undefined,
    )
    this.#resume(body, bytes)
  }

  #resume(body: Uint8Array<ArrayBuffer> | undefined, bytes: number): void {
    if (this.#state === "stopped") return
    this.#state = "ready"
    if (body) {
      this.#pass(body, bytes)
      this.#pump()
    } else this.#sink.fail()
  }

  #pass(body: string | Uint8Array<ArrayBuffer>, bytes: number): void {
    this.#sink.pass(body)
    if (this.#passed === 0) later(() => this.#settle())
    this.#passed += bytes
  }

  #settle(): void {
    this.#buffered -= this.#passed
    this.#passed = 0
  }
}
