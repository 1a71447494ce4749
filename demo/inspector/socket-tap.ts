import { decodeClientMessage, decodeServerMessage } from "agentdb-web"
import { countOf } from "../format.ts"
import type { Direction, FrameEntry, OpenRequest } from "./frame-entry.ts"

/** The window every query has before any Credit (the protocol's data plane). */
const impliedCredit = 4
const maxCredit = 2 ** 32 - 1

type Said = { kind: string; detail: string }
type Report = (entry: Omit<FrameEntry, "number" | "at">) => void

/** Reads what passes over one socket with the public decoders, and keeps the credit balance of its requests. */
export class SocketTap {
  readonly name: string
  readonly #report: Report
  readonly #open = new Map<number, OpenRequest>()

  constructor(name: string, report: Report) {
    this.name = name
    this.#report = report
  }

  /** Requests that have not ended, by request id. */
  get open(): ReadonlyMap<number, OpenRequest> {
    return this.#open
  }

  /** A frame that the client sends. Read before it goes: sending takes its buffer. */
  sent(frame: Uint8Array<ArrayBuffer>): void {
    this.#read("out", frame, () => {
      const { requestId, message } = decodeClientMessage(frame)
      return { requestId, ...this.#outgoing(requestId, message) }
    })
  }

  received(frame: Uint8Array<ArrayBuffer>): void {
    this.#read("in", frame, () => {
      const { requestId, message } = decodeServerMessage(frame)
      return { requestId, ...this.#incoming(requestId, message) }
    })
  }

  closed(direction: Direction, code: number, reason: string): void {
    this.#open.clear()
    this.#report({
      socket: this.name,
      direction,
      kind: "close",
      bytes: 0,
      detail: reason ? `${code} ${reason}` : `${code}`,
    })
  }

  #read(direction: Direction, frame: Uint8Array, read: () => { requestId: number } & Said): void {
    const about = { socket: this.name, direction, bytes: frame.byteLength }
    try {
      const said = read()
      const credit = this.#open.get(said.requestId)?.credit
      this.#report({ ...about, ...said, ...(credit === undefined ? {} : { credit }) })
      if (said.kind === "Done" || said.kind === "Error") this.#open.delete(said.requestId)
    } catch (error) {
      // A frame that can't be read is what an inspector is for; the connection deals with it in its own way.
      this.#report({ ...about, kind: "unreadable", detail: String(error) })
    }
  }

  #outgoing(id: number, message: ReturnType<typeof decodeClientMessage>["message"]): Said {
    switch (message.case) {
      case "hello":
        // Never the token.
        return { kind: "Hello", detail: message.value.databaseId }
      case "query":
      case "exec": {
        const kind = message.case === "query" ? "Query" : "Exec"
        if (message.case === "query") this.#open.set(id, { kind, credit: impliedCredit, batches: 0, rows: 0 })
        const { sql, params } = message.value
        return {
          kind,
          detail: params.length > 0 ? `${oneLine(sql)} (${countOf(params.length, "parameter")})` : oneLine(sql),
        }
      }
      case "batch":
        this.#open.set(id, { kind: "Batch", credit: impliedCredit, batches: 0, rows: 0 })
        return { kind: "Batch", detail: countOf(message.value.statements.length, "statement") }
      case "credit": {
        const request = this.#open.get(id)
        if (request) request.credit = Math.min(maxCredit, request.credit + message.value.batches)
        return { kind: "Credit", detail: `+${message.value.batches}` }
      }
      default:
        return { kind: message.case ? nameOf(message.case) : "unset", detail: "" }
    }
  }

  #incoming(id: number, message: ReturnType<typeof decodeServerMessage>["message"]): Said {
    switch (message.case) {
      case "helloOk":
        return { kind: "HelloOk", detail: `tip ${message.value.tip}, ping every ${message.value.pingIntervalMs} ms` }
      case "columns":
        return { kind: "Columns", detail: oneLine(message.value.names.join(", ")) }
      case "columnBatch": {
        const { rows } = message.value
        const request = this.#open.get(id)
        if (request) {
          request.credit--
          request.batches++
          request.rows += rows
        }
        return { kind: "ColumnBatch", detail: countOf(rows, "row") }
      }
      case "execResult":
        return {
          kind: "ExecResult",
          detail: `${countOf(Number(message.value.rowsAffected), "row")} affected, tip ${message.value.tip}`,
        }
      case "done":
        return { kind: "Done", detail: `${countOf(Number(message.value.totalRows), "row")}, tip ${message.value.tip}` }
      case "error":
        return { kind: "Error", detail: oneLine(`${message.value.code}: ${message.value.message}`) }
      default:
        return { kind: message.case ? nameOf(message.case) : "unset", detail: "" }
    }
  }
}

/** `rollback` as `Rollback`: the message's name in the schema. */
function nameOf(fieldCase: string): string {
  return fieldCase.charAt(0).toUpperCase() + fieldCase.slice(1)
}

function oneLine(text: string): string {
  const line = text.slice(0, 400).replace(/\s+/g, " ").trim()
  return line.length > 160 ? `${line.slice(0, 160)}…` : line
}
