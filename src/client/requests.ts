import { CloseCode } from "../link/link.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Param } from "../wire/values.ts"
import { BatchReply } from "./batch-reply.ts"
import { traced } from "./call-site.ts"
import type { Body } from "./frames.ts"
import { isReadOnly } from "./read-only.ts"
import { QueryStream } from "./row-stream.ts"
import type { Socket } from "./socket.ts"
import { toWireStatement } from "./statement.ts"
import { Stop } from "./stop.ts"
import { now } from "./timers.ts"
import type {
  BatchResult,
  CallOptions,
  ExecResult,
  Executor,
  QueryOptions,
  Row,
  RowStream,
  Statement,
  Transaction,
} from "./types.ts"

/** What has become of a request so far. */
export interface Tries {
  /** When it was first sent, in ms. */
  readonly since: number
  /** How often it was sent. */
  readonly count: number
  /** How many servers ended under it without saying that they were going. */
  readonly deaths: number
}

/** exec, query and batch, wherever the socket comes from. */
export abstract class Requests implements Executor {
  /** A stop around every call: the deadline of a whole transaction. */
  protected abstract readonly scope: Stop | undefined

  /** Acts on an open socket when it is the call's turn; `act` sends synchronously. */
  protected abstract admit<T>(act: (socket: Socket) => Promise<T>, stop?: Stop): Promise<T>

  /** Whether a request that failed like this may be sent again, asked after it was sent on `socket`. */
  protected abstract repeats(
    error: AgentDBError,
    socket: Socket,
    tries: Tries,
    mayRepeat: (code: string) => boolean,
  ): Promise<boolean>

  /** The error that the caller should see. */
  protected abstract explain(error: unknown): unknown

  abstract transaction<T>(fn: (tx: Transaction) => Promise<T>, o?: CallOptions): Promise<T>

  exec(sql: string | Statement, params?: readonly Param[], o?: CallOptions): Promise<ExecResult> {
    return traced(async () => {
      const body: Body = { case: "exec", statement: toWireStatement(sql, params) }
      return this.within(o, (stop) => this.ask((socket) => socket.exec(body, stop), stop))
    })
  }

  query<T = Row>(sql: string | Statement, params?: readonly Param[], o: QueryOptions = {}): RowStream<T> {
    let body: () => Body
    try {
      // Now, not when it is read: the caller may change its buffers meanwhile.
      const statement = toWireStatement(sql, params)
      body = () => ({ case: "query", statement })
    } catch (error) {
      body = () => {
        throw error
      }
    }
    const text = typeof sql === "string" ? sql : sql?.sql
    const stream = new QueryStream(
      (send, stop, mayRepeat) => this.ask(send, stop, mayRepeat),
      body,
      () => isReadOnly(text),
      () => new Stop(o, this.scope),
      o,
      new Error(),
    )
    // T is the caller's word for what its SQL gives.
    return stream as unknown as RowStream<T>
  }

  batch(statements: readonly (Statement | string)[], o?: CallOptions): Promise<BatchResult> {
    return traced(async () => {
      const body: Body = { case: "batch", statements: statements.map((statement) => toWireStatement(statement)) }
      return this.within(o, (stop) => this.ask((socket) => sendBatch(socket, body, stop), stop))
    })
  }

  /** Sends, and sends again where the rules allow. `admit` is this object's own unless given. */
  protected async ask<T>(
    send: (socket: Socket) => Promise<T>,
    stop: Stop | undefined,
    mayRepeat: (code: string) => boolean = (code) => code === "unavailable",
    admit: typeof this.admit = (act, stop) => this.admit(act, stop),
  ): Promise<T> {
    const since = now()
    let deaths = 0
    for (let count = 1; ; count++) {
      let used: Socket | undefined
      try {
        if (stop?.error) throw stop.error
        return await admit((socket) => {
          used = socket
          return send(socket)
        }, stop)
      } catch (error) {
        if (!(error instanceof AgentDBError) || stop?.error || !used) throw error
        if (error.code === "disconnected" && used.closeCode !== CloseCode.goingAway) deaths++
        const again = this.repeats(error, used, { since, count, deaths }, mayRepeat)
        if (!(await (stop ? stop.race(again) : again))) throw this.explain(error)
      }
    }
  }

  /** Runs `call` under its options and lets the timer and listeners go after it. */
  protected async within<T>(o: CallOptions | undefined, call: (stop: Stop | undefined) => Promise<T>): Promise<T> {
    const stop = Stop.of(o, this.scope)
    try {
      return await call(stop)
    } finally {
      stop?.dispose()
    }
  }
}

function sendBatch(socket: Socket, body: Body, stop: Stop | undefined): Promise<BatchResult> {
  return new Promise((resolve, reject) => {
    const reply = new BatchReply(socket, resolve, reject)
    const requestId = socket.request(body, reply)
    reply.sent(requestId)
    stop?.onstop((error) => {
      socket.cancel(requestId)
      reject(error)
    })
  })
}
