import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  AgentDB_Wire_ClientMessage as ClientMessage,
  AgentDB_Wire_Hello as Hello,
  AgentDB_Wire_ServerMessageSchema as ServerMessageSchema,
} from "../gen/livekit_agentdb_pb.ts"
import { CancelRingReader } from "../link/cancel-ring.ts"
import { CloseCode, type Link } from "../link/link.ts"
import { macrotask } from "../link/macrotask.ts"
import { AgentDBError } from "../wire/errors.ts"
import { decodeClientMessage, encodeServerMessage, type Frame } from "../wire/frames.ts"
import type { Limits } from "../wire/limits.ts"
import { CancelSignals, type ReadUrl } from "./cancel-signals.ts"
import { afterQuiet, type Clock } from "./clock.ts"
import { Executor, type Reply } from "./executor.ts"
import type { Member, OpenDatabase } from "./open-database.ts"
import { Outbox } from "./outbox.ts"
import { maxCredit, newRequest, type Request, type Work, workOf } from "./request.ts"
import type { Outlet } from "./stream.ts"

type ServerBody = NonNullable<MessageInitShape<typeof ServerMessageSchema>["message"]>

/** How long queued requests may run on without going back to the event loop. */
const sliceMs = 10
/** After a silence the worker first reads what is queued, for this long, before it judges. */
const graceMs = 100
/** Characters of an Error's message. */
const maxMessageLength = 16_384

/** What a session needs of the service around it. */
export interface SessionHost {
  readonly limits: Limits
  readonly clock: Clock
  readonly readUrl: ReadUrl | undefined
  /**
   * Checks the token and opens the database for this member.
   * @throws AgentDBError `unauthenticated`, `not_found`, ...
   */
  attach(hello: Hello, member: Member): Promise<OpenDatabase>
  detach(open: OpenDatabase, member: Member): void
  ended(session: Session): void
}

type State =
  /** Nothing came yet. */
  | { readonly name: "fresh" }
  /** The Hello is being checked; what is pipelined behind it is queued. */
  | { readonly name: "greeting"; readonly requestId: number }
  | { readonly name: "ready"; readonly open: OpenDatabase; readonly executor: Executor }
  | { readonly name: "closed" }

/** One socket, from its first frame to its close. */
export class Session implements Member, Reply {
  readonly #host: SessionHost
  readonly #link: Link
  readonly #outbox: Outbox
  readonly #signals: CancelSignals
  #state: State = { name: "fresh" }
  /** Requests from their arrival to their last frame. */
  readonly #live = new Map<number, Request>()
  readonly #queue: Request[] = []
  #queuedBytes = 0
  #working = false
  #lastReceived: number
  #disarmPing = () => {}

  constructor(link: Link, host: SessionHost) {
    this.#link = link
    this.#host = host
    this.#outbox = new Outbox(link, () => this.#mustHold())
    this.#signals = new CancelSignals(host.readUrl, CancelRingReader.open, (id) => this.#mark(id))
    this.#lastReceived = host.clock.now()
    this.#watchSilence(host.limits.pingTimeoutMs)
    link.onclose = () => this.#end()
    link.onsignal = (notice) => this.#signals.accept(notice)
    link.onframe = (frame) => this.#receive(frame)
  }

  /** Ends the socket; a transaction of it rolls back. */
  close(code: number, reason: string): void {
    if (this.#state.name === "closed") return
    this.#link.close(code, reason)
    this.#end()
  }

  // Member

  flushed(): void {
    if (this.#state.name === "ready") this.#outbox.release()
  }

  severed(error: AgentDBError, closeCode: number): void {
    // Answers that wait for a flush would say what is not true any more.
    const unsaid = this.#outbox.discard()
    const state = this.#state
    const ids = state.name === "greeting" ? [state.requestId] : [...unsaid, ...this.#live.keys()]
    for (const id of ids) this.#outbox.sendNow(errorFrame(id, error))
    this.#live.clear()
    this.close(closeCode, error.message)
  }

  // Reply

  get outlet(): Outlet {
    return this.#outbox
  }

  frame(frame: Frame): void {
    this.#say(frame)
  }

  end(request: Request, body: ServerBody): void {
    if (this.#live.delete(request.id)) this.#say(encodeServerMessage(request.id, body), request.id)
  }

  fail(request: Request, error: AgentDBError): void {
    if (this.#live.delete(request.id)) this.#say(errorFrame(request.id, error), request.id)
  }

  #say(frame: Frame, ends?: number): void {
    if (this.#state.name !== "closed") this.#outbox.send(frame, ends)
  }

  // Frames in

  #receive(frame: Frame): void {
    if (this.#state.name === "closed") return
    this.#lastReceived = this.#host.clock.now()
    const { maxFrameBytes } = this.#host.limits
    if (frame.byteLength > maxFrameBytes) {
      this.close(CloseCode.tooBig, `a frame has at most ${maxFrameBytes} bytes`)
      return
    }
    let message: ClientMessage
    try {
      message = decodeClientMessage(frame)
    } catch {
      this.close(CloseCode.undecodable, "the frame is not a ClientMessage")
      return
    }
    if (this.#state.name === "fresh") this.#expectHello(message)
    else this.#handle(message, frame.byteLength)
  }

  #expectHello({ requestId, message }: ClientMessage): void {
    if (message.case !== "hello") {
      this.close(CloseCode.policy, "the first frame must be a Hello")
      return
    }
    this.#state = { name: "greeting", requestId }
    void this.#greet(requestId, message.value)
  }

  async #greet(requestId: number, hello: Hello): Promise<void> {
    const { limits, clock } = this.#host
    let open: OpenDatabase
    try {
      open = await this.#host.attach(hello, this)
    } catch (error) {
      if (this.#state.name !== "greeting") return
      this.#outbox.sendNow(errorFrame(requestId, AgentDBError.from(error)))
      this.close(CloseCode.policy, "the Hello was refused")
      return
    }
    if (this.#state.name !== "greeting") {
      this.#host.detach(open, this)
      return
    }
    this.#state = { name: "ready", open, executor: new Executor(open, this, limits, clock) }
    const early = this.#outbox.takeHeld()
    // It tells of what is durable only, so that it waits for no flush and nothing overtakes it.
    const { durableTip } = open
    const { pingIntervalMs, pingTimeoutMs } = limits
    const value = { tip: BigInt(durableTip), pingIntervalMs, pingTimeoutMs }
    this.#outbox.sendNow(encodeServerMessage(requestId, { case: "helloOk", value }))
    for (const { frame, ends } of early) this.#say(frame, ends)
    void this.#work()
  }

  #handle({ requestId, message }: ClientMessage, bytes: number): void {
    const work = workOf(message)
    if (work) {
      this.#admit(requestId, work, bytes)
      return
    }
    switch (message.case) {
      case "ping": {
        const timestampMs = BigInt(this.#host.clock.now())
        const pong = { lastPingTimestampMs: message.value.timestampMs, timestampMs }
        const frame = encodeServerMessage(requestId, { case: "pong", value: pong })
        // A Pong tells nothing of the database, so it waits for no flush; only for the HelloOk.
        if (this.#state.name === "greeting") this.frame(frame)
        else this.#outbox.sendNow(frame)
        break
      }
      case "credit":
        this.#credit(requestId, message.value.batches)
        break
      case "cancel":
        this.#cancel(requestId)
        break
      case "hello":
        if (this.#isFree(requestId)) {
          this.#refuse(requestId, "failed_precondition", "the socket has said Hello already")
        }
        break
      default:
        if (this.#isFree(requestId)) this.#refuse(requestId, "unimplemented", "the message is of no known kind")
    }
  }

  #admit(requestId: number, work: Work, bytes: number): void {
    const { limits } = this.#host
    const canceled = this.#signals.isAhead(requestId)
    const url = this.#signals.takeUrl(requestId)
    if (!this.#isFree(requestId)) return
    if (this.#queue.length >= limits.queueFrames || this.#queuedBytes + bytes > limits.queueBytes) {
      const bound = `${limits.queueFrames} requests or ${limits.queueBytes} bytes`
      this.#refuse(requestId, "resource_exhausted", `the socket's queue is full (${bound})`)
      return
    }
    const request: Request = newRequest(
      requestId,
      work,
      bytes,
      limits,
      this.#signals.poller(url, () => request.canceled),
    )
    request.canceled = canceled
    this.#live.set(requestId, request)
    this.#queue.push(request)
    this.#queuedBytes += bytes
    void this.#work()
  }

  /** Closes the socket where two requests of one id would be live, whose answers nobody could tell apart. */
  #isFree(requestId: number): boolean {
    const isGreeting = this.#state.name === "greeting" && this.#state.requestId === requestId
    if (!isGreeting && !this.#live.has(requestId)) return true
    this.close(CloseCode.policy, `request_id ${requestId} is still in use`)
    return false
  }

  #credit(requestId: number, batches: number): void {
    const request = this.#live.get(requestId)
    if (!request) return
    if (request.addCredit) request.addCredit(batches)
    // It has not started yet: the window is wider when it does.
    else request.credit = Math.min(maxCredit, request.credit + batches)
  }

  /** Answers wait for the flush of what they may tell of, and those of pipelined frames for the HelloOk. */
  #mustHold(): boolean {
    return this.#state.name === "greeting" || (this.#state.name === "ready" && this.#state.open.unflushed)
  }

  #refuse(requestId: number, code: string, message: string): void {
    this.frame(errorFrame(requestId, new AgentDBError(code, message)))
  }

  /** The ring named it: the running statement sees this at its next poll, a queued one when it starts. */
  #mark(requestId: number): void {
    const request = this.#live.get(requestId)
    if (request) request.canceled = true
  }

  #cancel(requestId: number): void {
    this.#signals.settle(requestId)
    const request = this.#live.get(requestId)
    if (!request) return
    request.canceled = true
    if (request.cancel) {
      request.cancel()
      return
    }
    const queued = this.#queue.indexOf(request)
    if (queued < 0) return
    this.#queue.splice(queued, 1)
    this.#queuedBytes -= request.bytes
    this.fail(request, new AgentDBError("canceled", "the request was cancelled before it started"))
  }

  /** Starts queued requests one after another; one that waits for the write turn holds up those behind it. */
  async #work(): Promise<void> {
    if (this.#working || this.#state.name !== "ready") return
    const { executor } = this.#state
    this.#working = true
    let sliceEnd = performance.now() + sliceMs
    for (let request = this.#queue.shift(); request; request = this.#queue.shift()) {
      this.#queuedBytes -= request.bytes
      const waiting = executor.start(request)
      if (waiting) await waiting
      if (waiting || performance.now() > sliceEnd) {
        await new Promise<void>(macrotask)
        sliceEnd = performance.now() + sliceMs
      }
    }
    this.#working = false
  }

  /** A peer that sends nothing is dead, but only time in which the worker could have heard it counts. */
  #watchSilence(ms: number): void {
    this.#disarmPing = this.#host.clock.after(ms, () => {
      this.#disarmPing = afterQuiet(this.#host.clock, graceMs, () => {
        const { pingTimeoutMs } = this.#host.limits
        const left = this.#lastReceived + pingTimeoutMs - this.#host.clock.now()
        if (left > 0) this.#watchSilence(left)
        else this.close(CloseCode.policy, `nothing came for ${pingTimeoutMs} ms`)
      })
    })
  }

  #end(): void {
    if (this.#state.name === "closed") return
    const before = this.#state
    this.#state = { name: "closed" }
    this.#disarmPing()
    this.#queue.length = 0
    const live = [...this.#live.values()]
    this.#live.clear()
    if (before.name === "ready") {
      before.executor.close()
      for (const request of live) request.cancel?.()
      this.#host.detach(before.open, this)
    }
    this.#host.ended(this)
  }
}

/** Cut so that it fits a frame: the SQL of a trigger, or of a CHECK, can say anything of any length. */
function errorFrame(requestId: number, { code, message }: AgentDBError): Frame {
  return encodeServerMessage(requestId, {
    case: "error",
    value: { code, message: message.slice(0, maxMessageLength) },
  })
}
