import { CancelRingWriter, createCancelRing } from "../../src/link/cancel-ring.ts"
import { OracleClientMessage, OracleServerMessage } from "../fixtures/oracle.ts"
import { rowsOf, statement } from "../fixtures/wire-peer.ts"
import type { FuzzService, Watched } from "./fuzz-service.ts"
import { sqlOf } from "./ops.ts"
import type { RequestRecord, Step, Work } from "./request-record.ts"

type ClientBody = NonNullable<NonNullable<ConstructorParameters<typeof OracleClientMessage>[0]>["message"]>
type ServerBody = OracleServerMessage["message"]

/** What all sockets of a database know together. */
export interface Knowledge {
  /** The newest tip that any client was told. */
  tip: number
  /** Frames that came to any client, Pongs aside. */
  frames: number
}

/** One socket of a program, from its Hello to its end, and the record of what it did. */
export class Player {
  readonly steps: Step[] = []
  readonly closed: Promise<void>
  readonly watched: Watched
  isOpen = true
  /** Of the HelloOk. */
  helloTip: number | undefined
  closeCode: number | undefined
  readonly #service: FuzzService
  readonly #knowledge: Knowledge
  readonly #live = new Map<number, RequestRecord>()
  readonly #ring: CancelRingWriter | undefined
  #pongs: (() => void)[] = []

  constructor(service: FuzzService, databaseId: string, knowledge: Knowledge, hasRing: boolean) {
    this.#service = service
    this.#knowledge = knowledge
    this.watched = service.socket()
    const { link } = this.watched
    link.onframe = (frame) => this.#receive(OracleServerMessage.fromBinary(frame))
    this.closed = new Promise((resolve) => {
      link.onclose = ({ code }) => {
        this.closeCode = code
        this.#end()
        resolve()
      }
    })
    this.#send(helloId, { case: "hello", value: { token: service.token(), databaseId } })
    if (!hasRing) return
    const ring = createCancelRing()
    this.#ring = new CancelRingWriter(ring)
    link.signal({ sab: ring })
  }

  get live(): RequestRecord[] {
    return [...this.#live.values()]
  }

  /** Sends a request under the smallest free id, so that ids are used again as soon as they may. */
  request(work: Work): RequestRecord {
    let id = 0
    while (id === helloId || this.#live.has(id)) id++
    const record: RequestRecord = {
      id,
      work,
      sentAt: this.#service.clock.now(),
      endedAt: undefined,
      floor: this.#knowledge.tip,
      credit: this.#service.service.limits.initialCredit,
      batches: 0,
      wasCanceled: false,
      parts: [],
      tip: undefined,
      error: undefined,
    }
    this.#live.set(id, record)
    this.steps.push({ request: record })
    this.#send(id, bodyOf(work))
    return record
  }

  credit(id: number, batches: number): void {
    const record = this.#live.get(id)
    if (record) record.credit += batches
    this.steps.push({ creditAt: this.#service.clock.now(), to: record })
    this.#send(id, { case: "credit", value: { batches } })
  }

  cancel(id: number): void {
    const record = this.#live.get(id)
    if (record) {
      record.wasCanceled = true
      this.#ring?.push(id)
    }
    this.#send(id, { case: "cancel", value: {} })
  }

  /** Resolves with the Pong, or when the socket is closed. */
  ping(): Promise<void> {
    if (!this.isOpen) return Promise.resolve()
    return new Promise((resolve) => {
      this.#pongs.push(resolve)
      this.#send(pingId, { case: "ping", value: {} })
    })
  }

  close(): void {
    this.watched.link.close()
    this.#end()
  }

  #send(requestId: number, message: ClientBody): void {
    this.watched.link.send(new Uint8Array(new OracleClientMessage({ requestId, message }).toBinary()))
  }

  #receive({ requestId, message }: OracleServerMessage): void {
    if (message.case === "pong") {
      this.#pongs.shift()?.()
      return
    }
    this.#knowledge.frames++
    if (message.case === "helloOk") {
      this.helloTip = Number(message.value.tip)
      this.#learn(message.value.tip)
      return
    }
    const record = this.#live.get(requestId)
    // A refused Hello; anything else would have been told by the monitor.
    if (!record) return
    if (!this.#note(record, message)) return
    record.endedAt = this.#service.clock.now()
    this.#live.delete(requestId)
  }

  /** True with the last frame. */
  #note(record: RequestRecord, message: ServerBody): boolean {
    const { parts } = record
    switch (message.case) {
      case "columns":
        parts.push({ columns: message.value.names, rows: [] })
        return false
      case "columnBatch": {
        record.batches++
        const part = parts.at(-1)
        if (part && "rows" in part) part.rows.push(...rowsOf(message.value))
        return false
      }
      case "execResult":
        parts.push(message.value)
        this.#learn(message.value.tip)
        if (record.work.kind === "batch") return false
        record.tip = Number(message.value.tip)
        return true
      case "done":
        record.tip = Number(message.value.tip)
        this.#learn(message.value.tip)
        return true
      case "error":
        record.error = { code: message.value.code, message: message.value.message }
        return true
      default:
        return false
    }
  }

  #learn(tip: bigint): void {
    this.#knowledge.tip = Math.max(this.#knowledge.tip, Number(tip))
  }

  #end(): void {
    this.isOpen = false
    for (const resolve of this.#pongs.splice(0)) resolve()
  }
}

const helloId = 1000
const pingId = 1001

function bodyOf(work: Work): ClientBody {
  switch (work.kind) {
    case "exec":
    case "query": {
      const { sql, params } = sqlOf(work.op)
      return { case: work.kind, value: statement(sql, params) }
    }
    case "batch":
      return {
        case: "batch",
        value: {
          statements: work.ops.map((op) => {
            const { sql, params } = sqlOf(op)
            return statement(sql, params)
          }),
        },
      }
    default:
      return { case: work.kind, value: {} }
  }
}
