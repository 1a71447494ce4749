import type { Close, Link, SignalNotice } from "../../../src/link/link.ts"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import { ColumnBatchWriter } from "../../../src/wire/column-batch-writer.ts"
import { decodeClientMessage, encodeServerMessage } from "../../../src/wire/frames.ts"

type ServerBody = Parameters<typeof encodeServerMessage>[1]
export type ClientMessage = ReturnType<typeof decodeClientMessage>
export type Script = (request: ClientMessage, peer: FakePeer) => void

/** The far end of a link, which answers what a test tells it to. Hello and Ping it answers by itself. */
export class FakePeer {
  readonly link: Link
  /** Every frame that came, in order. */
  readonly log: ClientMessage[] = []
  readonly signals: SignalNotice[] = []
  closed: Close | undefined
  tip = 0n
  script: Script
  answersPing = true
  pingIntervalMs = 5_000
  pingTimeoutMs = 150_000

  constructor(link: Link, script: Script = execOk) {
    this.link = link
    this.script = script
    link.onclose = (close) => {
      this.closed = close
    }
    link.onsignal = (notice) => this.signals.push(notice)
    link.onframe = (frame) => {
      const request = decodeClientMessage(frame)
      this.log.push(request)
      const { case: kind } = request.message
      if (kind === "ping" && this.answersPing) this.send(request.requestId, { case: "pong", value: {} })
      else if (kind === "hello" && !this.refuses(request)) this.welcome(request.requestId)
      else if (kind !== "hello") this.script(request, this)
    }
  }

  /** A test's own answer to Hello: true if it gave one. */
  refuses: (hello: ClientMessage) => boolean = () => false

  welcome(requestId: number): void {
    const { tip, pingIntervalMs, pingTimeoutMs } = this
    this.send(requestId, { case: "helloOk", value: { tip, pingIntervalMs, pingTimeoutMs } })
  }

  send(requestId: number, message: ServerBody): void {
    this.link.send(encodeServerMessage(requestId, message))
  }

  exec(requestId: number, rowsAffected = 1n, lastInsertId = 0n): void {
    this.send(requestId, { case: "execResult", value: { rowsAffected, lastInsertId, tip: this.tip } })
  }

  error(requestId: number, code: string, message = code): void {
    this.send(requestId, { case: "error", value: { code, message } })
  }

  columns(requestId: number, ...names: string[]): void {
    this.send(requestId, { case: "columns", value: { names } })
  }

  /** A batch of one-column rows of whole numbers. */
  ints(requestId: number, ...values: number[]): void {
    const writer = new ColumnBatchWriter(1)
    for (const value of values) {
      writer.columns[0]?.int(value)
      writer.endRow()
    }
    this.link.send(writer.takeFrame(requestId))
  }

  done(requestId: number, totalRows = 0n): void {
    this.send(requestId, { case: "done", value: { tip: this.tip, totalRows } })
  }

  /** The frames that came, by kind, without pings and the Hello. */
  get kinds(): string[] {
    return this.log.map(({ message }) => message.case ?? "unset").filter((kind) => kind !== "ping" && kind !== "hello")
  }

  /** The SQL of what came, or its kind where it has none. */
  get texts(): string[] {
    return this.log
      .filter(({ message }) => message.case !== "ping" && message.case !== "hello")
      .map(({ message }) =>
        message.case === "exec" || message.case === "query" ? message.value.sql : (message.case ?? "unset"),
      )
  }
}

/** Answers every request with success. */
export const execOk: Script = ({ requestId, message }, peer) => {
  switch (message.case) {
    case "exec":
    case "begin":
    case "commit":
    case "rollback":
      peer.exec(requestId)
      break
    case "query":
      peer.columns(requestId, "n")
      peer.ints(requestId, 1, 2)
      peer.done(requestId, 2n)
      break
    case "batch":
      for (const _ of message.value.statements) peer.exec(requestId)
      peer.done(requestId)
      break
  }
}

/** One link and its peer. */
export function pair(script?: Script): { link: Link; peer: FakePeer } {
  const [link, far] = createLinkPair()
  return { link, peer: new FakePeer(far, script) }
}

/** A server that can be dialled again and again; `peers` are its ends, in order. */
export function fakeServer(script?: Script, prepare: (peer: FakePeer, index: number) => void = () => {}) {
  const peers: FakePeer[] = []
  const link = (): Link => {
    const made = pair(script)
    prepare(made.peer, peers.length)
    peers.push(made.peer)
    return made.link
  }
  return { peers, link }
}

/** Lets everything that is under way over in-memory links arrive. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Waits until something holds; the bound detects a hang. */
export async function until(holds: () => boolean, ms = 10_000): Promise<void> {
  const end = Date.now() + ms
  while (!holds()) {
    if (Date.now() > end) throw new Error("it did not come to hold")
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** What a promise rejects with, as an AgentDBError would be read. */
export async function failure(promise: Promise<unknown>): Promise<{ code: string; message: string; name: string }> {
  try {
    await promise
  } catch (error) {
    return error as { code: string; message: string; name: string }
  }
  throw new Error("it did not reject")
}
