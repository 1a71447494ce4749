import { fromBinary } from "@bufbuild/protobuf"
import { type CancelSignals, cancelSignals } from "../client/cancel-signals.ts"
import { linkSource } from "../client/link-source.ts"
import type { LinkLike } from "../client/types.ts"
import { AgentDB_Wire_ServerMessageSchema as ServerMessageSchema } from "../gen/livekit_agentdb_pb.ts"
import type { Close, Link } from "../link/link.ts"
import { encodeClientMessage } from "../wire/frames.ts"
import { type Answer, AnswerBuilder, type ServerBody } from "./answer.ts"
import { Deviation, same, show } from "./deviation.ts"
import { checkFrame } from "./frame-checks.ts"
import { batchOf, type Given, type GivenStatement, statementOf } from "./statement.ts"

type Body = Parameters<typeof encodeClientMessage>[1]

export interface Sent {
  readonly id: number
  /** Settles with the last frame, or when the socket closes. Rejects with a Deviation where a frame is malformed. */
  readonly answer: Promise<Answer>
}

interface Request {
  readonly builder: AnswerBuilder
  readonly paysCredit: boolean
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** A client that knows frames only. It uses the generated codec and nothing of this package's client. */
export class Peer {
  readonly raw: LinkLike
  readonly link: Link
  readonly closed: Promise<Close>
  /** Kinds of all frames that came, in order. */
  readonly log: { readonly id: number; readonly body: ServerBody; readonly bytes: number }[] = []
  /** What no rule allows, whatever it is about. */
  readonly faults: Deviation[] = []
  readonly #requests = new Map<number, Request>()
  readonly #signals: CancelSignals
  readonly #maxFrameBytes: number
  #nextId = 1
  #isClosed = false

  private constructor(raw: LinkLike, link: Link, maxFrameBytes: number) {
    this.raw = raw
    this.link = link
    this.#maxFrameBytes = maxFrameBytes
    this.#signals = cancelSignals(link)
    this.closed = new Promise((resolve) => {
      link.onclose = (close) => {
        this.#isClosed = true
        for (const { builder, resolve: settle } of this.#requests.values()) {
          builder.answer.kinds.push("closed")
          settle(builder.answer)
        }
        this.#requests.clear()
        resolve(close)
      }
    })
    link.onframe = (frame) => this.#take(frame)
    this.#signals.announce()
  }

  static async over(raw: LinkLike, maxFrameBytes: number): Promise<Peer> {
    return new Peer(raw, await linkSource(raw).link(), maxFrameBytes)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  send(id: number, body: Body): void {
    this.link.send(encodeClientMessage(id, body))
  }

  /** Sends bytes as they are. */
  sendBytes(bytes: Iterable<number>): void {
    this.link.send(Uint8Array.from(bytes))
  }

  /** Sends a message that is no frame. @returns false where the socket's kind has no way to */
  sendText(text: string): boolean {
    if ("onframe" in this.raw) {
      if (!("sendText" in this.raw) || typeof this.raw.sendText !== "function") return false
      this.raw.sendText(text)
    } else if ("postMessage" in this.raw) this.raw.postMessage(text)
    else this.raw.send(text)
    return true
  }

  /** @param credits given right behind the request; without them one is given for each batch taken. */
  request(body: Body, credits?: readonly number[], id: number = this.#nextId++): Sent {
    const answer = this.expect(id, body.case === "batch", credits === undefined)
    if (body.case === "exec" || body.case === "query" || body.case === "batch") this.#signals.arm(id)
    this.send(id, body)
    for (const batches of credits ?? []) this.credit(id, batches)
    return { id, answer }
  }

  /** Gathers what comes for an id, however its request is sent. */
  expect(id: number, isBatch = false, paysCredit = true): Promise<Answer> {
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#requests.set(id, { builder: new AnswerBuilder(isBatch), paysCredit, resolve, reject })
    })
    // A rule that ended early has no more use for it.
    answer.catch(() => {})
    return answer
  }

  hello(token: string, databaseId: string): Promise<Answer> {
    return this.request({ case: "hello", value: { token, databaseId } }).answer
  }

  exec(sql: string, ...params: Given[]): Promise<Answer> {
    return this.request({ case: "exec", value: statementOf(sql, params) }).answer
  }

  query(sql: string, ...params: Given[]): Promise<Answer> {
    return this.request({ case: "query", value: statementOf(sql, params) }).answer
  }

  batch(...statements: GivenStatement[]): Promise<Answer> {
    return this.request({ case: "batch", value: batchOf(statements) }).answer
  }

  /** A query that gets only the credit that is given by hand. */
  stream(sql: string, ...credits: number[]): Sent {
    return this.request({ case: "query", value: statementOf(sql) }, credits)
  }

  begin(): Promise<Answer> {
    return this.request({ case: "begin", value: {} }).answer
  }

  commit(): Promise<Answer> {
    return this.request({ case: "commit", value: {} }).answer
  }

  rollback(): Promise<Answer> {
    return this.request({ case: "rollback", value: {} }).answer
  }

  ping(timestampMs = 7n): Promise<Answer> {
    return this.request({ case: "ping", value: { timestampMs } }).answer
  }

  cancel(id: number): void {
    this.#signals.fire(id)
    this.send(id, { case: "cancel", value: {} })
  }

  credit(id: number, batches: number): void {
    this.send(id, { case: "credit", value: { batches } })
  }

  /** Kinds of the frames of one request so far. */
  kinds(id: number): string[] {
    return this.log.filter((frame) => frame.id === id).map(({ body }) => body.case ?? "unset")
  }

  /** ColumnBatches of one request so far. */
  batches(id: number): number {
    return this.kinds(id).filter((kind) => kind === "columnBatch").length
  }

  close(): void {
    this.#isClosed = true
    this.link.close()
    this.#signals.end()
  }

  /** Live requests, for a report of what hangs. */
  get waiting(): number[] {
    return [...this.#requests.keys()]
  }

  #take(frame: Uint8Array<ArrayBuffer>): void {
    const { requestId, message } = this.#decode(frame) ?? {}
    if (requestId === undefined || message === undefined) return
    this.log.push({ id: requestId, body: message, bytes: frame.byteLength })
    const request = this.#requests.get(requestId)
    try {
      checkFrame(message, frame.byteLength, this.#maxFrameBytes)
      if (!request) {
        throw new Deviation("", "no frame but for a live request", `${message.case} for request ${requestId}`)
      }
      const ended = request.builder.take(message)
      if (message.case === "columnBatch" && request.paysCredit) this.credit(requestId, 1)
      if (!ended) return
      this.#end(requestId)
      request.resolve(request.builder.answer)
    } catch (error) {
      const fault = error instanceof Deviation ? error : new Deviation("", "a frame", show(error))
      this.faults.push(fault)
      if (!request) return
      this.#end(requestId)
      request.reject(fault)
    }
  }

  #end(id: number): void {
    this.#requests.delete(id)
    this.#signals.release(id)
  }

  #decode(frame: Uint8Array) {
    try {
      return fromBinary(ServerMessageSchema, frame)
    } catch (error) {
      this.faults.push(new Deviation("", "a ServerMessage", `${frame.byteLength} bytes: ${show(error)}`))
      return undefined
    }
  }
}

/** @throws Deviation unless the answer is one Error of this code. */
export function refused(answer: Answer, code: string | RegExp, about = ""): { code: string; message: string } {
  const { error } = answer
  if (!error) throw new Deviation(about, `Error ${code}`, `${answer.kinds.join(", ")}`)
  if (typeof code === "string") same(error.code, code, `${about}: ${error.message.slice(0, 100)}`)
  else if (!code.test(error.code)) throw new Deviation(about, String(code), error.code)
  return error
}

/** @throws Deviation where the answer is an Error or was cut off. */
export function succeeded(answer: Answer, about = ""): Answer {
  const { error, kinds } = answer
  if (error) throw new Deviation(about, "no Error", `${error.code}: ${error.message}`)
  if (kinds.at(-1) === "closed") throw new Deviation(about, "an answer", "a close")
  return answer
}
