import { CloseCode } from "../link/link.ts"
import { AgentDBError } from "../wire/errors.ts"
import { defaultLimits } from "../wire/limits.ts"
import { traced } from "./call-site.ts"
import { asyncDispose } from "./dispose.ts"
import { Gate, useTx } from "./gate.ts"
import { linkSource } from "./link-source.ts"
import { Dialer, Line } from "./reconnect.ts"
import { Requests, type Tries } from "./requests.ts"
import type { Socket } from "./socket.ts"
import { SocketPool } from "./socket-pool.ts"
import { Stop } from "./stop.ts"
import { after, now } from "./timers.ts"
import { frames, openTransaction, runTransaction, type SocketTransaction } from "./transaction.ts"
import type { CallOptions, Connection, ConnectOptions, Transaction } from "./types.ts"

/**
 * Connects to one database. The same for a port of this origin's service and for a socket
 * of the cloud.
 * @throws AgentDBError what the server refused the Hello with; `unavailable` if it can't be reached.
 */
export function connect(options: ConnectOptions): Promise<Connection> {
  return traced(async () => {
    const connection = new WireConnection(options)
    try {
      await connection.open(options.signal)
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  })
}

const defaultReconnect = { maxWaitMs: defaultLimits.writeWaitMs, minDelayMs: 50, maxDelayMs: 1_000 }

/** A query is asked at most this often. */
const maxTries = 9
/** After so many servers that died under it a query is not asked again: it may be what they died of. */
const maxDeaths = 3

class WireConnection extends Requests implements Connection {
  readonly databaseId: string
  #tip = 0
  readonly #dialer: Dialer
  readonly #line: Line
  /** The sockets of transactions, where links can be made. */
  readonly #pool: SocketPool
  /** Where there is one link only: keeps other calls out of a transaction on it. */
  readonly #gate: Gate | undefined
  readonly #transactions = new Set<SocketTransaction>()
  readonly #life = new Stop()
  protected readonly scope = undefined

  constructor({ link, databaseId, token, reconnect = true }: ConnectOptions) {
    super()
    this.databaseId = databaseId
    const onTip = (tip: number) => {
      if (tip > this.#tip) this.#tip = tip
    }
    const terms = reconnect === false ? undefined : { ...defaultReconnect, ...(reconnect === true ? {} : reconnect) }
    const source = linkSource(link)
    this.#dialer = new Dialer(source, { databaseId, token, onTip }, terms, this.#life)
    this.#line = new Line(this.#dialer)
    this.#pool = new SocketPool(this.#dialer)
    this.#gate = source.endless ? undefined : new Gate()
  }

  get tip(): number {
    return this.#tip
  }

  async open(signal: AbortSignal | undefined): Promise<void> {
    const stop = new Stop({ signal })
    try {
      await this.#line.open(stop)
    } finally {
      stop.dispose()
    }
  }

  begin(o?: CallOptions): Promise<Transaction> {
    return traced(() => this.within(o, (stop) => this.#begin(stop, undefined)))
  }

  transaction<T>(fn: (tx: Transaction) => Promise<T>, o?: CallOptions): Promise<T> {
    const site = new Error()
    return this.within(o, async (stop) => {
      const tx = await traced(() => this.#begin(stop, stop))
      return runTransaction(tx, fn, stop, site)
    })
  }

  ping(): Promise<number> {
    return traced(() => this.#line.pass((socket) => socket.ping()))
  }

  async close(): Promise<void> {
    const error = new AgentDBError("closed", "the connection was closed")
    this.#life.stop(error)
    this.#gate?.failAll(error)
    this.#line.close(error)
    this.#pool.close(error)
  }

  [asyncDispose](): Promise<void> {
    return this.close()
  }

  protected override admit<T>(act: (socket: Socket) => Promise<T>, stop?: Stop): Promise<T> {
    const pass = () => this.#line.pass(act, stop)
    return this.#gate ? this.#gate.pass(pass, stop) : pass()
  }

  protected override async repeats(
    error: AgentDBError,
    socket: Socket,
    { since, count, deaths }: Tries,
    mayRepeat: (code: string) => boolean,
  ): Promise<boolean> {
    const { reconnect, source } = this.#dialer
    if (!reconnect || !source.endless || this.#life.error || !mayRepeat(error.code)) return false
    if (count >= maxTries || deaths >= maxDeaths) return false
    // 1011: it may be this very statement that the server died of.
    if (error.code === "disconnected") return socket.closeCode !== CloseCode.internal
    if (error.code !== "unavailable" || now() - since >= reconnect.maxWaitMs) return false
    // At a handover the socket ends behind the answer; if it stays, the write turn did not come.
    return new Promise((resolve) => {
      const clear = after(reconnect.maxWaitMs, () => resolve(false))
      socket.isGone().then(resolve).finally(clear)
    })
  }

  protected override explain(error: unknown): unknown {
    // Only one transaction of all has the turn, so if one of ours is open it is that one.
    const isOwn = this.#transactions.size > 0 && error instanceof AgentDBError && error.code === "unavailable"
    return isOwn ? useTx() : error
  }

  #begin(stop: Stop | undefined, scope: Stop | undefined): Promise<SocketTransaction> {
    // A transaction's socket could still be made, but a connection that is closed is closed for all calls alike.
    const { whyGone } = this.#line
    if (whyGone) throw whyGone
    const gate = this.#gate
    if (gate) return this.#beginBehind(gate, stop, scope)
    return this.ask(
      (socket) => this.#beginOn(socket, () => this.#pool.give(socket), stop, scope),
      stop,
      // A begin has done nothing that the end of its socket did not undo.
      () => true,
      (act, stop) => this.#pool.take(stop).then(act),
    )
  }

  async #beginBehind(gate: Gate, stop: Stop | undefined, scope: Stop | undefined): Promise<SocketTransaction> {
    await gate.hold(stop)
    const socket = await this.#line
      .pass(async (socket) => socket, stop)
      .catch((error: unknown) => {
        gate.leave()
        throw error
      })
    return this.#beginOn(socket, () => gate.leave(), stop, scope)
  }

  async #beginOn(
    socket: Socket,
    release: () => void,
    stop: Stop | undefined,
    scope: Stop | undefined,
  ): Promise<SocketTransaction> {
    let hasEnded = false
    let tx: SocketTransaction | undefined
    const ended = () => {
      hasEnded = true
      if (tx) this.#transactions.delete(tx)
      release()
    }
    tx = await openTransaction(socket, { ...frames, rollback: [...frames.rollback], ended }, stop, scope)
    // It may have been lost already.
    if (!hasEnded) this.#transactions.add(tx)
    return tx
  }
}
