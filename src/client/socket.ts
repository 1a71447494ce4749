import { CloseCode, type Link } from "../link/link.ts"
import { macrotask } from "../link/macrotask.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Frame } from "../wire/frames.ts"
import { defaultLimits } from "../wire/limits.ts"
import { type Reply, toError, toExecResult, unexpected } from "./answers.ts"
import { cancelSignals } from "./cancel-signals.ts"
import { type Answer, type Body, decodeAnswer, encodeRequest } from "./frames.ts"
import type { Stop } from "./stop.ts"
import { after, afterIdly, now } from "./timers.ts"
import type { ExecResult, Token } from "./types.ts"

type HelloOk = Answer & { case: "helloOk" }

type State =
  | { at: "greeting" }
  | { at: "open"; terms: HelloOk }
  /** `error` is what its requests failed with. */
  | { at: "ended"; error: AgentDBError; closeCode: number }

/** A Hello that has no answer after this is given up, so that a port without a peer is an error. */
const helloMs = 30_000

/** The life of one link: Hello, the table of live requests, pings, the end. */
export class Socket {
  #state: State = { at: "greeting" }
  readonly #link: Link
  readonly #onTip: (tip: number) => void
  readonly #signals
  readonly #requests = new Map<number, Reply>()
  readonly #endListeners = new Set<(error: AgentDBError) => void>()
  #lastId = 0
  /** When the oldest Ping since the last frame left; undefined while the peer owes nothing. */
  #owedSince: number | undefined
  #stopPinging = () => {}
  #onIdle: (() => void) | undefined

  /** Rejects with the server's refusal, with `unavailable` if the link was lost before an answer. */
  static async open(
    link: Link,
    hello: { databaseId: string; token: Token; onTip: (tip: number) => void },
    stop: Stop,
  ): Promise<Socket> {
    const socket = new Socket(link, hello.onTip)
    const tooLate = after(helloMs, () =>
      socket.end(new AgentDBError("unavailable", `no answer to Hello in ${helloMs} ms`)),
    )
    const off = stop.onstop((error) => socket.end(error))
    try {
      const token = typeof hello.token === "function" ? await stop.race(Promise.resolve(hello.token())) : hello.token
      const terms = await socket.#hello(token, hello.databaseId)
      socket.#opened(terms)
      return socket
    } catch (error) {
      socket.end(AgentDBError.from(error))
      throw error
    } finally {
      tooLate()
      off()
    }
  }

  private constructor(link: Link, onTip: (tip: number) => void) {
    this.#link = link
    this.#onTip = onTip
    this.#signals = cancelSignals(link)
    link.onclose = ({ code, reason }) => this.#lost(code, reason)
    // Last: it delivers what has come already.
    link.onframe = (frame) => this.#receive(frame)
  }

  /** The close code, once it has ended; 1000 for an own end. */
  get closeCode(): number | undefined {
    return this.#state.at === "ended" ? this.#state.closeCode : undefined
  }

  /** Calls at once if it has ended already. The result takes the listener back. */
  onend(listener: (error: AgentDBError) => void): () => void {
    if (this.#state.at === "ended") listener(this.#state.error)
    else this.#endListeners.add(listener)
    return () => this.#endListeners.delete(listener)
  }

  /**
   * Sends a request; `reply` hears of it until its end.
   * @returns its request id.
   * @throws AgentDBError `resource_exhausted` if the frame is over the limit; the socket stays.
   */
  request(body: Body, reply: Reply): number {
    if (this.#state.at === "ended") throw this.#state.error
    const id = this.#nextId()
    const frame = encodeRequest(id, body)
    if (frame.byteLength > defaultLimits.maxFrameBytes) {
      throw new AgentDBError("resource_exhausted", `a frame of ${frame.byteLength} bytes is over the limit of 16 MiB`)
    }
    this.#requests.set(id, reply)
    if (body.case !== "ping" && body.case !== "hello" && body.case !== "rollback") this.#signals.arm(id)
    this.#link.send(frame)
    return id
  }

  /** A request with one answer. A stop cancels it and rejects at once, whatever becomes of it. */
  call<T>(body: Body, read: (answer: Answer) => T, stop?: Stop): Promise<T> {
    return new Promise((resolve, reject) => {
      if (stop?.error) throw stop.error
      const id = this.request(body, {
        accept: (answer) => {
          resolve(read(answer))
          return true
        },
        fail: reject,
      })
      stop?.onstop((error) => {
        this.cancel(id)
        reject(error)
      })
    })
  }

  /** exec, begin, commit and rollback are answered alike. */
  exec(body: Body, stop?: Stop): Promise<ExecResult> {
    return this.call(
      body,
      (answer) => {
        if (answer.case !== "execResult") throw unexpected(answer, body.case)
        return toExecResult(answer)
      },
      stop,
    )
  }

  credit(requestId: number, batches: number): void {
    if (batches > 0 && this.#requests.has(requestId)) this.#send(requestId, { case: "credit", batches })
  }

  /** The request stays in the table until the server ends it, so that its id is not used again before. */
  cancel(requestId: number): void {
    if (!this.#requests.has(requestId)) return
    this.#signals.fire(requestId)
    this.#send(requestId, { case: "cancel" })
  }

  /** The request has ended: what still comes for it is ignored. */
  forget(requestId: number): void {
    this.#requests.delete(requestId)
    this.#signals.release(requestId)
    if (this.#requests.size === 0) this.#onIdle?.()
  }

  /** The round trip in milliseconds. */
  async ping(): Promise<number> {
    const sent = now()
    await this.call({ case: "ping", timestampMs: Date.now() }, (answer) => {
      if (answer.case !== "pong") throw unexpected(answer, "ping")
    })
    return now() - sent
  }

  /** True if it ends before it answers a Ping: what it said last was said on its way out. */
  async isGone(): Promise<boolean> {
    return this.ping().then(
      () => false,
      () => true,
    )
  }

  /** Closes the link; every live request fails with `error`. */
  end(error: AgentDBError, closeCode: number = CloseCode.normal): void {
    if (this.#state.at === "ended") return
    this.#state = { at: "ended", error, closeCode }
    this.#stopPinging()
    this.#link.close(closeCode, closeCode === CloseCode.normal ? "" : error.message)
    this.#signals.end()
    for (const listener of this.#endListeners) listener(error)
    this.#endListeners.clear()
    const live = [...this.#requests.values()]
    this.#requests.clear()
    for (const reply of live) reply.fail(error)
  }

  /** Ends it as soon as no request is live. */
  endWhenIdle(error: AgentDBError): void {
    if (this.#requests.size === 0) this.end(error)
    else this.#onIdle = () => this.end(error)
  }

  #hello(token: string, databaseId: string): Promise<HelloOk> {
    this.#signals.announce()
    return this.call({ case: "hello", token, databaseId }, (answer) => {
      if (answer.case !== "helloOk") throw unexpected(answer, "hello")
      return answer
    })
  }

  #opened(terms: HelloOk): void {
    if (this.#state.at !== "greeting") throw this.#state.at === "ended" ? this.#state.error : new Error("opened twice")
    this.#state = { at: "open", terms }
    if (terms.pingIntervalMs > 0) this.#pingLater(terms)
  }

  #lost(code: number, reason: string): void {
    const close = `the socket closed (${code}${reason && ` ${reason}`})`
    const error =
      this.#state.at === "greeting"
        ? new AgentDBError("unavailable", `${close} before the Hello was answered`)
        : new AgentDBError("disconnected", `${close}; the outcome is unknown`)
    this.end(error, code)
  }

  #receive(frame: Frame): void {
    this.#owedSince = undefined
    let decoded: ReturnType<typeof decodeAnswer>
    try {
      decoded = decodeAnswer(frame)
    } catch (cause) {
      this.end(new AgentDBError("invalid_response", "a frame that cannot be decoded", { cause }), CloseCode.undecodable)
      return
    }
    const { requestId, answer } = decoded
    if (answer.case === "helloOk" || answer.case === "execResult" || answer.case === "done") this.#onTip(answer.tip)
    const reply = this.#requests.get(requestId)
    if (reply) this.#answer(requestId, reply, answer)
  }

  #answer(requestId: number, reply: Reply, answer: Answer): void {
    let error: AgentDBError | undefined
    try {
      if (answer.case === "error") error = toError(answer)
      else if (!reply.accept(answer)) return
    } catch (unreadable) {
      error = AgentDBError.from(unreadable, "invalid_response")
      // The server may be in the middle of an answer that nobody will read.
      this.cancel(requestId)
    }
    this.forget(requestId)
    if (error) reply.fail(error)
  }

  #pingLater(terms: HelloOk): void {
    this.#stopPinging = afterIdly(terms.pingIntervalMs, () => {
      if (this.#isLate(terms)) this.#judge(terms)
      else this.#keepAlive(terms)
    })
  }

  #keepAlive(terms: HelloOk): void {
    this.#owedSince ??= now()
    this.ping().catch(() => {})
    this.#pingLater(terms)
  }

  #isLate(terms: HelloOk): boolean {
    return this.#owedSince !== undefined && now() - this.#owedSince >= terms.pingTimeoutMs
  }

  /** Time in which this side was busy or asleep does not count: frames that wait are taken first. */
  #judge(terms: HelloOk): void {
    macrotask(() =>
      macrotask(() => {
        if (this.#state.at === "ended") return
        if (!this.#isLate(terms)) this.#keepAlive(terms)
        else {
          const silence = `no frame for ${terms.pingTimeoutMs} ms; the outcome is unknown`
          this.end(new AgentDBError("disconnected", silence), CloseCode.policy)
        }
      }),
    )
  }

  #send(requestId: number, body: Body): void {
    this.#link.send(encodeRequest(requestId, body))
  }

  #nextId(): number {
    do this.#lastId = this.#lastId === 0xffff_ffff ? 1 : this.#lastId + 1
    while (this.#requests.has(this.#lastId))
    return this.#lastId
  }
}
