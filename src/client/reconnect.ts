import { AgentDBError } from "../wire/errors.ts"
import type { LinkSource } from "./link-source.ts"
import { Socket } from "./socket.ts"
import type { Stop } from "./stop.ts"
import { afterIdly, now } from "./timers.ts"
import type { ReconnectOptions, Token } from "./types.ts"
import { Waiters } from "./waiters.ts"

export interface Hello {
  databaseId: string
  token: Token
  onTip: (tip: number) => void
}

/** Full jitter: many clients of one lost server must not come back at the same moment. */
export function backoffMs(
  attempt: number,
  { minDelayMs, maxDelayMs }: Required<ReconnectOptions>,
  random = Math.random,
): number {
  return random() * Math.min(maxDelayMs, minDelayMs * 2 ** attempt)
}

/** Makes open sockets, and keeps trying while the server is `unavailable`. */
export class Dialer {
  readonly source: LinkSource
  readonly #hello: Hello
  /** Undefined: one attempt only. */
  readonly reconnect: Required<ReconnectOptions> | undefined
  readonly #stop: Stop

  /** @param stop ends every attempt: the connection's close. */
  constructor(source: LinkSource, hello: Hello, reconnect: Required<ReconnectOptions> | undefined, stop: Stop) {
    this.source = source
    this.#hello = hello
    this.reconnect = reconnect
    this.#stop = stop
  }

  /** @param failures attempts that failed just before: the first one now is delayed as if they were its own. */
  async open(failures = 0): Promise<Socket> {
    const since = now()
    if (failures > 0 && this.reconnect) await this.#pause(backoffMs(failures, this.reconnect))
    for (let attempt = failures; ; attempt++) {
      try {
        return await this.#attempt()
      } catch (error) {
        const { reconnect } = this
        if (!reconnect || !this.source.endless || !(error instanceof AgentDBError) || !error.retryable) throw error
        const delay = backoffMs(attempt, reconnect)
        if (now() - since + delay > reconnect.maxWaitMs) throw error
        await this.#pause(delay)
      }
    }
  }

  async #attempt(): Promise<Socket> {
    const pending = this.source.link().catch((error: unknown) => {
      // A factory that fails is a server that can't be reached.
      throw AgentDBError.from(error, "unavailable")
    })
    try {
      return await Socket.open(await this.#stop.race(pending), this.#hello, this.#stop)
    } catch (error) {
      if (this.#stop.error) pending.then((link) => link.close()).catch(() => {})
      throw error
    }
  }

  #pause(ms: number): Promise<void> {
    return this.#stop.race(new Promise((resolve) => afterIdly(ms, resolve)))
  }
}

type State =
  | { at: "up"; socket: Socket }
  | { at: "dialing" }
  /** The next call dials. */
  | { at: "down" }
  /** For good. */
  | { at: "gone"; error: AgentDBError }

/** A socket that lived less than this counts as a failed attempt. */
const shortLifeMs = 1_000
/** After so many short lives in a row nobody dials but a call that needs the socket. */
const backgroundDials = 2

/** One open socket to the database, made anew when it is lost. */
export class Line {
  #state: State = { at: "down" }
  readonly #dialer: Dialer
  readonly #waiters = new Waiters<Socket>()
  #shortLives = 0

  constructor(dialer: Dialer) {
    this.#dialer = dialer
  }

  /** Why there will be no socket any more, for a line that is gone for good. */
  get whyGone(): AgentDBError | undefined {
    return this.#state.at === "gone" ? this.#state.error : undefined
  }

  /** Acts on the open socket, at once if there is one. */
  pass<T>(act: (socket: Socket) => Promise<T>, stop?: Stop): Promise<T> {
    const maxMs = this.#dialer.reconnect?.maxWaitMs ?? 0
    return this.#pass(act, maxMs, stop)
  }

  /** The first socket: waits as long as the Hello itself may take. */
  async open(stop: Stop): Promise<void> {
    await this.#pass(async () => {}, 0x7fff_ffff, stop)
  }

  /** Ends the socket; every live and waiting call fails with `error`. */
  close(error: AgentDBError): void {
    const before = this.#state
    if (before.at === "gone") return
    this.#state = { at: "gone", error }
    if (before.at === "up") before.socket.end(error)
    this.#waiters.failAll(error)
  }

  #pass<T>(act: (socket: Socket) => Promise<T>, maxMs: number, stop?: Stop): Promise<T> {
    if (stop?.error) return Promise.reject(stop.error)
    if (this.#state.at === "up") return act(this.#state.socket)
    if (this.#state.at === "gone") return Promise.reject(this.#state.error)
    const waiting = this.#waiters.wait(
      act,
      maxMs,
      () => new AgentDBError("unavailable", `no connection to the server in ${maxMs} ms; nothing was sent`),
      stop,
    )
    if (this.#state.at === "down") this.#dial()
    return waiting
  }

  #dial(): void {
    this.#state = { at: "dialing" }
    this.#dialer.open(this.#shortLives).then(
      (socket) => this.#up(socket),
      (error: unknown) => this.#failed(error),
    )
  }

  #up(socket: Socket): void {
    if (this.#state.at === "gone") {
      socket.end(this.#state.error)
      return
    }
    this.#state = { at: "up", socket }
    const since = now()
    socket.onend((error) => this.#lost(error, now() - since < shortLifeMs))
    while (this.#state.at === "up" && this.#waiters.size > 0) this.#waiters.next(socket)
  }

  #failed(error: unknown): void {
    if (this.#state.at === "gone") return
    this.#state = { at: "down" }
    this.#waiters.failAll(error instanceof AgentDBError ? error : AgentDBError.from(error))
  }

  #lost(error: AgentDBError, early: boolean): void {
    if (this.#state.at === "gone") return
    if (!this.#dialer.source.endless || !this.#dialer.reconnect) {
      this.#state = { at: "gone", error: new AgentDBError("closed", `the link is gone: ${error.message}`) }
      this.#waiters.failAll(this.#state.error)
      return
    }
    this.#state = { at: "down" }
    this.#shortLives = early ? this.#shortLives + 1 : 0
    if (this.#shortLives <= backgroundDials || this.#waiters.size > 0) this.#dial()
  }
}
