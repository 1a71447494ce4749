import type { CreateOptions } from "../client/management.ts"
import type { Token } from "../client/types.ts"
import type { Limits } from "../wire/limits.ts"
import type { Cell } from "./answer.ts"
import { type Deviation, holds, same } from "./deviation.ts"
import { Peer, succeeded } from "./peer.ts"
import type { Target } from "./target.ts"

/** What one rule has. Sockets and databases that it leaves are closed and deleted behind it. */
export class Stage {
  readonly target: Target
  readonly #peers: Peer[] = []
  readonly #databases: string[] = []
  #own: Promise<string> | undefined

  constructor(target: Target) {
    this.target = target
  }

  get limits(): Limits {
    return this.target.limits
  }

  token(of: Token = this.target.token): Promise<string> {
    return Promise.resolve(typeof of === "function" ? of() : of)
  }

  /** Another empty database. */
  async create(o?: CreateOptions): Promise<string> {
    const { databaseId } = await this.target.management.createDatabase(o)
    this.#databases.push(databaseId)
    return databaseId
  }

  /** The rule's own database. */
  database(): Promise<string> {
    this.#own ??= this.create()
    return this.#own
  }

  /** A socket that has said nothing yet. */
  async socket(): Promise<Peer> {
    const peer = await Peer.over(await this.target.open(), this.limits.maxFrameBytes)
    this.#peers.push(peer)
    return peer
  }

  /** A greeted socket on the rule's own database, or on another. */
  async connect(databaseId?: string): Promise<Peer> {
    const id = databaseId ?? (await this.database())
    const peer = await this.socket()
    succeeded(await peer.hello(await this.token(), id), "Hello")
    return peer
  }

  /** Two greeted sockets. */
  async two(): Promise<[Peer, Peer]> {
    return [await this.connect(), await this.connect()]
  }

  /** Runs statements that are no part of the rule. */
  async setUp(peer: Peer, ...statements: string[]): Promise<void> {
    for (const sql of statements) succeeded(await peer.exec(sql), sql)
  }

  /** The rows of a query that is to succeed. */
  async rows(peer: Peer, sql: string, ...params: Cell[]): Promise<Cell[][]> {
    return succeeded(await peer.query(sql, ...params), sql).rows
  }

  /** What counts the rows of a table. */
  async count(peer: Peer, table = "t"): Promise<number> {
    const [[count] = []] = await this.rows(peer, `SELECT count(*) FROM ${table}`)
    return Number(count)
  }

  /** Waits until as many ColumnBatches of a stream have come, and then sees that no more do. */
  async hasBatches(peer: Peer, id: number, batches: number, about = ""): Promise<void> {
    while (peer.batches(id) < batches && !peer.isClosed && !hasEnded(peer.kinds(id))) {
      await peer.ping()
      await pause(1)
    }
    await settle(peer)
    same(peer.batches(id), batches, `${about} ColumnBatches of a stream that has no more credit`)
    holds(!hasEnded(peer.kinds(id)), "a stream that waits for credit", peer.kinds(id), about)
  }

  /** What any frame of this rule's sockets had against the protocol. */
  get fault(): Deviation | undefined {
    return this.#peers.flatMap(({ faults }) => faults)[0]
  }

  /** For a rule that hangs. */
  get pending(): string {
    const waiting = this.#peers.flatMap((peer, index) => {
      const frames = (id: number) => (peer.kinds(id).length ? ` after ${peer.kinds(id).slice(-3).join(", ")}` : "")
      return peer.waiting.map((id) => `socket ${index} waits for request ${id}${frames(id)}`)
    })
    return waiting.join("; ") || "no request is waiting"
  }

  async strike(): Promise<void> {
    for (const peer of this.#peers) peer.close()
    // Most rules leave theirs, some have deleted them.
    await Promise.allSettled(this.#databases.map((id) => this.target.management.deleteDatabase(id)))
  }
}

const hasEnded = (kinds: readonly string[]) => kinds.some((kind) => kind === "done" || kind === "error")

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** By then the target has done what it could, and what it sent has come. */
export async function settle(peer: Peer): Promise<void> {
  for (let i = 0; i < 10; i++) await peer.ping()
  await pause(30)
  await peer.ping()
}

/** Sees a close, and its code. */
export async function closes(peer: Peer, code: number, about = ""): Promise<void> {
  const close = await peer.closed
  holds(close.code === code, `a close with ${code}`, `${close.code} ${close.reason}`, about)
}

/** What a call of the management plane is refused with. */
export async function fails(call: Promise<unknown>, code: string, about = ""): Promise<void> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ("value" in outcome) holds(false, `an error ${code}`, outcome.value, about)
  else {
    const { error } = outcome
    const got = typeof error === "object" && error !== null && "code" in error ? error.code : error
    same(got, code, about || (error instanceof Error ? error.message : ""))
  }
}
