import { decodeClientMessage } from "../../src/wire/frames.ts"
import type { Limits } from "../../src/wire/limits.ts"
import { OracleClientMessage, OracleServerMessage } from "../fixtures/oracle.ts"

type Incoming = OracleClientMessage["message"]
type Outgoing = OracleServerMessage["message"]

/** A request between its arrival and its last frame. */
interface Live {
  readonly kind: string
  credit: number
  columns: number
  rows: number
  frames: number
}

/** The two codecs differ in what they forgive: text that is not UTF-8, tags beyond 32 bits. To refuse is right as well. */
function isRefused(frame: Uint8Array): boolean {
  try {
    decodeClientMessage(frame)
    return false
  } catch {
    return true
  }
}

/**
 * Watches one socket at the server's end, where the order of what comes and what leaves is exact, and holds the
 * server to the protocol: one last frame a request, credit never below zero, the grammar of every answer, and
 * the close code that each broken frame has to get.
 */
export class Monitor {
  readonly violations: string[] = []
  /** Frames from the server so far, Pongs aside. */
  framesOut = 0
  closed: { code: number; reason: string } | undefined
  readonly #limits: Limits
  readonly #live = new Map<number, Live[]>()
  #pongs = 0
  #greeted: "no" | "asked" | "yes" = "no"
  #helloId = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Ids of requests that have not ended. */
  get live(): number[] {
    return [...this.#live.keys()]
  }

  /** Pings that were not answered. */
  get pings(): number {
    return this.#pongs
  }

  /** A frame arrives, and `deliver` gives it to the server. */
  received(frame: Uint8Array, deliver: () => void): void {
    if (this.closed) {
      deliver()
      return
    }
    const { message, code } = this.#judge(frame)
    const { requestId = 0, message: body } = message ?? {}
    const isTaken = body ? this.#accept(requestId, body) : "no"
    deliver()
    // Closed since, while this frame was looked at.
    const got = (this.closed as { code: number } | undefined)?.code
    const wanted = code ?? (isTaken === "yes" ? 1008 : undefined)
    const mayClose = isTaken === "perhaps" && got === 1008
    if (got === wanted || mayClose || (got === 1007 && isRefused(frame))) return
    this.#violated(
      `a ${body?.case ?? "bad"} frame of ${requestId} gave ${got ?? "no close"} instead of ${wanted ?? "none"}`,
    )
  }

  sent(frame: Uint8Array): void {
    if (this.closed) {
      this.#violated("a frame after the close")
      return
    }
    if (frame.byteLength > this.#limits.maxFrameBytes) this.#violated(`a frame of ${frame.byteLength} bytes`)
    const { requestId, message } = OracleServerMessage.fromBinary(frame)
    if (message.case !== "pong") this.framesOut++
    if (this.#greeted !== "yes") this.#greet(requestId, message)
    else this.#answer(requestId, message)
  }

  close(code: number, reason: string): void {
    this.closed ??= { code, reason }
  }

  /** What the frame is, or the code that it has to close the socket with. */
  #judge(frame: Uint8Array): { message?: OracleClientMessage; code?: number } {
    if (frame.byteLength > this.#limits.maxFrameBytes) return { code: 1009 }
    try {
      const message = OracleClientMessage.fromBinary(frame)
      return this.#greeted === "no" && message.message.case !== "hello" ? { code: 1008 } : { message }
    } catch {
      return { code: 1007 }
    }
  }

  /** Takes note of a good frame, and tells whether its request_id is in use. */
  #accept(id: number, body: Incoming): "no" | "yes" | "perhaps" {
    switch (body.case) {
      case "ping":
        this.#pongs++
        return "no"
      case "cancel":
        return "no"
      case "credit": {
        const live = this.#live.get(id)?.at(-1)
        if (live) live.credit = Math.min(0xffff_ffff, live.credit + body.value.batches)
        return "no"
      }
      case "hello":
        if (this.#greeted === "no") {
          this.#greeted = "asked"
          this.#helloId = id
          return "no"
        }
    }
    const known = this.#live.get(id)
    const live = { kind: body.case ?? "unset", credit: this.#limits.initialCredit, columns: 0, rows: 0, frames: 0 }
    if (this.#greeted === "asked" && id === this.#helloId) return "yes"
    if (!known) {
      this.#live.set(id, [live])
      return "no"
    }
    known.push(live)
    // The server may have ended it already, and hold its last frame back until a flush.
    const [first] = known
    return first && first.frames > 0 && first.credit === 0 && first.kind === "query" ? "yes" : "perhaps"
  }

  #greet(id: number, message: Outgoing): void {
    if (id !== this.#helloId || (message.case !== "helloOk" && message.case !== "error")) {
      this.#violated(`${message.case} of ${id} before the HelloOk`)
    }
    if (message.case !== "helloOk") return
    this.#greeted = "yes"
    if (message.value.pingIntervalMs !== this.#limits.pingIntervalMs) this.#violated("other ping terms")
  }

  #answer(id: number, message: Outgoing): void {
    if (message.case === "pong") {
      if (--this.#pongs < 0) this.#violated("a Pong without a Ping")
      return
    }
    const queue = this.#live.get(id)
    const live = queue?.[0]
    if (!queue || !live) {
      this.#violated(`${message.case} for request_id ${id}, which is not live`)
      return
    }
    this.#grammar(id, live, message)
    live.frames++
    const isLast =
      message.case === "done" || message.case === "error" || (message.case === "execResult" && live.kind !== "batch")
    if (!isLast) return
    queue.shift()
    if (queue.length === 0) this.#live.delete(id)
  }

  #grammar(id: number, live: Live, message: Outgoing): void {
    const { kind } = live
    switch (message.case) {
      case "columns":
        if (kind !== "batch" && (kind !== "query" || live.columns > 0)) this.#violated(`Columns for ${kind} ${id}`)
        live.columns++
        break
      case "columnBatch": {
        const { rows, columns } = message.value
        if (live.columns === 0) this.#violated(`a ColumnBatch before the Columns of ${kind} ${id}`)
        if (rows === 0 || columns.some(({ types }) => types.length !== rows)) this.#violated(`a batch of ${rows} rows`)
        if (--live.credit < 0) this.#violated(`${kind} ${id} spent credit that it did not have`)
        live.rows += rows
        break
      }
      case "execResult":
        if (kind === "query" || kind === "unset" || kind === "hello") this.#violated(`ExecResult for ${kind} ${id}`)
        break
      case "done":
        if (kind !== "query" && kind !== "batch") this.#violated(`Done for ${kind} ${id}`)
        if (kind === "query" && live.columns === 0) this.#violated(`Done before the Columns of ${id}`)
        if (Number(message.value.totalRows) !== live.rows)
          this.#violated(`Done tells of ${message.value.totalRows} rows`)
        break
      case "error":
        if (message.value.code === "" || message.value.code === "internal") {
          this.#violated(`the code of an error is ${JSON.stringify(message.value.code)}: ${message.value.message}`)
        }
        break
      default:
        this.#violated(`${message.case} for ${kind} ${id}`)
    }
  }

  #violated(what: string): void {
    this.violations.push(what)
  }
}
