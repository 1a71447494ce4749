import { AgentDBError } from "../wire/errors.ts"
import { atSite, traced } from "./call-site.ts"
import { asyncDispose } from "./dispose.ts"
import type { Body } from "./frames.ts"
import { Gate } from "./gate.ts"
import { Requests } from "./requests.ts"
import type { Socket } from "./socket.ts"
import type { Stop } from "./stop.ts"
import type { CallOptions, Transaction } from "./types.ts"

/** How a transaction begins and ends: by frames of its own, or as a savepoint of another. */
export interface Bounds {
  begin: Body
  commit: Body
  /** In order; the last one counts. */
  rollback: Body[]
  /** Called once, when the server holds nothing of it any more. */
  ended(): void
}

export const frames = {
  begin: { case: "begin" },
  commit: { case: "commit" },
  rollback: [{ case: "rollback" }],
} as const satisfies Record<string, Body | Body[]>

type State =
  | { at: "open" }
  /** Rollback is on its way: a statement sent now would run outside. */
  | { at: "ending" }
  /** By commit or rollback. */
  | { at: "finished" }
  /** With its socket. */
  | { at: "lost"; error: AgentDBError }

/** @param scope stops every statement, and nothing else: the transaction must still be ended. */
export async function openTransaction(
  socket: Socket,
  bounds: Bounds,
  stop: Stop | undefined,
  scope: Stop | undefined,
): Promise<SocketTransaction> {
  let begun = false
  try {
    if (stop?.error) throw stop.error
    begun = true
    await socket.exec(bounds.begin, stop)
  } catch (error) {
    // A begin that was given up may have gone through: only a rollback behind it makes sure.
    if (begun && stop?.error)
      void Promise.allSettled(bounds.rollback.map((body) => socket.exec(body))).then(() => bounds.ended())
    else bounds.ended()
    throw error
  }
  return new SocketTransaction(socket, bounds, scope)
}

/** Runs `fn` and commits, or rolls back and throws what went wrong. A stop does not wait for `fn`. */
export async function runTransaction<T>(
  tx: SocketTransaction,
  fn: (tx: Transaction) => Promise<T>,
  stop: Stop | undefined,
  site: Error,
): Promise<T> {
  try {
    const running = (async () => fn(tx))()
    const result = await (stop ? stop.race(running) : running)
    if (!tx.isFinished) {
      await tx.commit().catch((error: unknown) => {
        throw atSite(error, site)
      })
    }
    return result
  } catch (error) {
    await tx[asyncDispose]()
    throw error
  }
}

export class SocketTransaction extends Requests implements Transaction {
  #state: State = { at: "open" }
  readonly #socket: Socket
  readonly #bounds: Bounds
  protected readonly scope: Stop | undefined
  /** Held by a nested transaction, and by a commit until it is answered. */
  readonly #gate = new Gate()
  readonly #offEnd: () => void
  #savepoints = 0

  constructor(socket: Socket, bounds: Bounds, scope: Stop | undefined) {
    super()
    this.#socket = socket
    this.#bounds = bounds
    this.scope = scope
    this.#offEnd = socket.onend((error) => this.#settle({ at: "lost", error }))
  }

  /** By an own commit or rollback. */
  get isFinished(): boolean {
    return this.#state.at === "ending" || this.#state.at === "finished"
  }

  commit(o?: CallOptions): Promise<{ tip: number }> {
    return traced(() => this.within(o, (stop) => this.#commit(stop)))
  }

  rollback(): Promise<void> {
    return traced(async () => {
      this.#check()
      this.#state = { at: "ending" }
      const answers = await Promise.allSettled(this.#bounds.rollback.map((body) => this.#socket.exec(body)))
      this.#settle({ at: "finished" })
      const last = answers.at(-1)
      // Nothing is left to take back where a commit that was given up had gone through, or the engine ended it.
      if (last?.status === "rejected" && !isOver(last.reason)) throw last.reason
    })
  }

  transaction<T>(fn: (tx: Transaction) => Promise<T>, o?: CallOptions): Promise<T> {
    const site = new Error()
    return this.within(o, async (stop) => {
      const inner = await traced(() => this.#savepoint(stop))
      return runTransaction(inner, fn, stop, site)
    })
  }

  async [asyncDispose](): Promise<void> {
    if (this.#state.at === "open") await this.rollback().catch(() => {})
  }

  protected override admit<T>(act: (socket: Socket) => Promise<T>, stop?: Stop): Promise<T> {
    return this.#gate.pass(async () => {
      this.#check()
      return act(this.#socket)
    }, stop)
  }

  /** A part of a transaction is never sent again. */
  protected override async repeats(): Promise<boolean> {
    return false
  }

  protected override explain(error: unknown): unknown {
    return error
  }

  async #commit(stop: Stop | undefined): Promise<{ tip: number }> {
    this.#check()
    await this.#gate.hold(stop)
    try {
      this.#check()
      const { tip } = await this.#socket.exec(this.#bounds.commit, stop)
      this.#settle({ at: "finished" })
      return { tip }
    } catch (error) {
      if (isOver(error)) this.#settle({ at: "finished" })
      throw error
    } finally {
      this.#gate.leave()
    }
  }

  async #savepoint(stop: Stop | undefined): Promise<SocketTransaction> {
    this.#check()
    await this.#gate.hold(stop)
    const name = `agentdb_web_${++this.#savepoints}`
    const release: Body = plain(`RELEASE ${name}`)
    return openTransaction(
      this.#socket,
      {
        begin: plain(`SAVEPOINT ${name}`),
        commit: release,
        rollback: [plain(`ROLLBACK TO ${name}`), release],
        ended: () => this.#gate.leave(),
      },
      stop,
      stop ?? this.scope,
    )
  }

  #check(): void {
    if (this.#state.at === "lost") throw this.#state.error
    if (this.#state.at !== "open") throw hasEnded()
  }

  #settle(state: State & { at: "finished" | "lost" }): void {
    if (this.#state.at === "finished" || this.#state.at === "lost") return
    this.#state = state
    this.#offEnd()
    this.#gate.failAll(state.at === "lost" ? state.error : hasEnded())
    this.#bounds.ended()
  }
}

const plain = (sql: string): Body => ({ case: "exec", statement: { sql, params: [] } })

/** The server says that there is no transaction any more. */
function isOver(error: unknown): boolean {
  return error instanceof AgentDBError && (error.code === "aborted" || error.code === "failed_precondition")
}

const hasEnded = () => new AgentDBError("failed_precondition", "the transaction has ended")
