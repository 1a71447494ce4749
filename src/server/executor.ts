import type { MessageInitShape } from "@bufbuild/protobuf"
import type { AgentDB_Wire_ServerMessageSchema as ServerMessageSchema } from "../gen/livekit_agentdb_pb.ts"
import type { PreparedStatement } from "../sqlite/statement.ts"
import { AgentDBError } from "../wire/errors.ts"
import { encodeServerMessage, type Frame } from "../wire/frames.ts"
import type { Limits } from "../wire/limits.ts"
import { type BatchPart, batchFrames, runBatch } from "./batch.ts"
import type { Clock } from "./clock.ts"
import type { OpenDatabase } from "./open-database.ts"
import type { Request } from "./request.ts"
import { CapturedSource, CursorSource, type RowSource } from "./row-source.ts"
import { type Effects, noEffects, prepare, runToEnd } from "./statements.ts"
import { type Outlet, Stream } from "./stream.ts"
import { Transaction } from "./transaction.ts"

type ServerBody = NonNullable<MessageInitShape<typeof ServerMessageSchema>["message"]>

/** Where answers go. The last one of a request ends it. */
export interface Reply {
  readonly outlet: Outlet
  frame(frame: Frame): void
  end(request: Request, body: ServerBody): void
  fail(request: Request, error: AgentDBError): void
}

/**
 * What the requests of one socket do to its database. Called with one request at a
 * time, in arrival order; a returned promise means that the request waits for the
 * write turn and that the next one may not start before it is settled.
 */
export class Executor {
  readonly #open: OpenDatabase
  readonly #reply: Reply
  readonly #limits: Limits
  readonly #streams = new Set<Stream>()
  readonly #transaction: Transaction
  #closed = false

  constructor(open: OpenDatabase, reply: Reply, limits: Limits, clock: Clock) {
    this.#open = open
    this.#reply = reply
    this.#limits = limits
    this.#transaction = new Transaction(open, limits, clock)
  }

  start(request: Request): void | Promise<void> {
    this.#open.touch()
    if (!this.#open.asleep) return this.#startAwake(request)
    return this.#open.wake().then(
      () => (this.#closed ? undefined : this.#startAwake(request)),
      (error: unknown) => this.#fail(request, error),
    )
  }

  #startAwake(request: Request): void | Promise<void> {
    try {
      if (request.canceled) throw canceled()
      return this.#dispatch(request)?.catch((error: unknown) => this.#fail(request, error))
    } catch (error) {
      this.#fail(request, error)
    } finally {
      // The time that it ran is not idle time.
      this.#transaction.touch()
    }
  }

  /** The socket is gone: its streams end unheard and its transaction rolls back. */
  close(): void {
    this.#closed = true
    for (const stream of this.#streams) {
      stream.end()
      this.#open.streamEnded(stream)
    }
    this.#streams.clear()
    this.#transaction.abandon()
  }

  #dispatch(request: Request): void | Promise<void> {
    const { work } = request
    switch (work.case) {
      case "exec":
        return this.#transaction.enter() ? this.#execInside(request) : this.#execOutside(request)
      case "query":
        return this.#transaction.enter() ? this.#queryInside(request) : this.#queryOutside(request)
      case "batch":
        return this.#batch(request)
      case "begin":
        return this.#begin(request)
      case "commit":
        this.#transaction.commit(() => this.#captureAll())
        return this.#endExec(request, noEffects)
      case "rollback":
        this.#transaction.rollback(() => this.#captureAll())
        return this.#endExec(request, noEffects)
    }
  }

  // exec

  #execOutside(request: Request): void | Promise<void> {
    if (this.#open.turn.free) return this.#withTurn(request, () => this.#execOnWriter(request))
    // Somebody's transaction holds the writer: what only reads need not wait for it.
    const reader = this.#open.database.takeReader()
    try {
      const statement = prepare(reader, statementOf(request), "autocommit", request.run, this.#limits)
      if (statement.kind.readonly) {
        const effects = runToEnd(reader, statement, request.run)
        this.#endExec(request, effects)
        return
      }
      statement.finalize()
    } finally {
      this.#open.database.giveReader(reader)
    }
    return this.#withTurn(request, () => this.#execOnWriter(request))
  }

  #execOnWriter(request: Request): void {
    const { writer } = this.#open.database
    writer.resetCounters()
    const statement = prepare(writer, statementOf(request), "autocommit", request.run, this.#limits)
    this.#endExec(request, this.#commitAll(request, statement))
  }

  /** Runs a statement that is its own transaction. One that fails may have committed a part: INSERT OR FAIL. */
  #commitAll(request: Request, statement: PreparedStatement): Effects {
    try {
      return runToEnd(this.#open.database.writer, statement, request.run)
    } finally {
      this.#open.committed()
    }
  }

  #execInside(request: Request): void {
    const { writer } = this.#open.database
    const statement = this.#prepareInside(request)
    this.#endExec(request, runToEnd(writer, statement, request.run))
  }

  /** Prepares on the transaction's connection; before anything but a plain read, its streams are taken ahead. */
  #prepareInside(request: Request): PreparedStatement {
    const { writer } = this.#open.database
    const statement = prepare(writer, statementOf(request), "transaction", request.run, this.#limits)
    if (!isRead(statement)) this.#captureAll()
    return statement
  }

  // query

  #queryOutside(request: Request): void | Promise<void> {
    this.#admitStream()
    const { database } = this.#open
    const reader = database.takeReader()
    let statement: PreparedStatement
    try {
      statement = prepare(reader, statementOf(request), "autocommit", request.run, this.#limits)
    } catch (error) {
      database.giveReader(reader)
      throw error
    }
    if (statement.kind.readonly) {
      const source = this.#cursor(request, statement, () => database.giveReader(reader))
      this.#stream(request, source, source.columns, database.tip)
      return
    }
    statement.finalize()
    database.giveReader(reader)
    return this.#withTurn(request, () => this.#queryOnWriter(request))
  }

  /** A query that writes: committed first, then what it returned is streamed. */
  #queryOnWriter(request: Request): void {
    // Others may have opened while it waited.
    this.#admitStream()
    const { writer } = this.#open.database
    writer.resetCounters()
    const statement = prepare(writer, statementOf(request), "autocommit", request.run, this.#limits)
    if (statement.columnCount === 0) {
      this.#commitAll(request, statement)
      this.#stream(request, new CapturedSource([]), noColumns(request), this.#open.database.tip)
      return
    }
    const taken = this.#open.atomically("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", () =>
      this.#takeAll(request, statement),
    )
    this.#open.committed()
    this.#stream(request, taken.source, taken.columns, this.#open.database.tip)
  }

  #queryInside(request: Request): void {
    this.#admitStream()
    const { writer } = this.#open.database
    const statement = this.#prepareInside(request)
    const { tip } = this.#transaction
    if (isRead(statement)) {
      const source = this.#cursor(request, statement, () => {})
      this.#stream(request, source, source.columns, tip, "reads inside")
      return
    }
    if (statement.columnCount === 0) {
      runToEnd(writer, statement, request.run)
      this.#stream(request, new CapturedSource([]), noColumns(request), tip)
      return
    }
    const taken = this.#open.savepoint(() => this.#takeAll(request, statement))
    this.#stream(request, taken.source, taken.columns, tip)
  }

  #cursor(request: Request, statement: PreparedStatement, onClose: () => void): CursorSource {
    return new CursorSource(request.id, statement, request.run, this.#limits, onClose)
  }

  #takeAll(request: Request, statement: PreparedStatement) {
    const cursor = this.#cursor(request, statement, () => {})
    try {
      return { columns: cursor.columns, source: cursor.capture(this.#captureRoom()) }
    } finally {
      cursor.close()
    }
  }

  // batch

  #batch(request: Request): void | Promise<void> {
    if (request.work.case !== "batch") return
    const { statements } = request.work.value
    const { database } = this.#open
    const inside = this.#transaction.enter()
    const run = (): BatchPart[] =>
      runBatch(request.id, statements, database.writer, request.run, this.#limits, this.#captureRoom())
    const answer = (parts: BatchPart[], tip: number) =>
      this.#startStream(request, new CapturedSource(batchFrames(request.id, parts, tip)), tip)
    if (statements.length === 0) {
      answer([], inside ? this.#transaction.tip : database.tip)
      return
    }
    if (inside) {
      this.#admitStream()
      this.#captureAll()
      answer(this.#open.savepoint(run), this.#transaction.tip)
      return
    }
    return this.#withTurn(request, () => {
      this.#admitStream()
      database.writer.resetCounters()
      try {
        const parts = this.#open.atomically("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", run)
        this.#open.committed()
        answer(parts, database.tip)
      } finally {
        database.writer.resetLocals()
      }
    })
  }

  // begin

  #begin(request: Request): void | Promise<void> {
    this.#transaction.checkMayBegin()
    const begin = () => {
      this.#transaction.begin()
      this.#endExec(request, noEffects)
    }
    if (this.#open.turn.tryTake()) return begin()
    return this.#waitForTurn(request).then(begin)
  }

  // the write turn

  #withTurn(request: Request, job: () => void): void | Promise<void> {
    const run = () => {
      try {
        job()
      } finally {
        this.#open.turn.release()
      }
    }
    if (this.#open.turn.tryTake()) return run()
    return this.#waitForTurn(request).then(run)
  }

  /** Resolves with the turn in hand. */
  async #waitForTurn(request: Request): Promise<void> {
    const { outcome, cancel } = this.#open.turn.wait()
    request.cancel = cancel
    const result = await outcome
    delete request.cancel
    if (result === "granted") {
      if (!this.#closed) return
      this.#open.turn.release()
    }
    if (result !== "timeout") throw canceled()
    throw new AgentDBError(
      "unavailable",
      `another transaction held the write turn for ${this.#limits.writeWaitMs} ms; nothing was executed`,
    )
  }

  // answers

  #endExec(request: Request, { rowsAffected, lastInsertId }: Effects): void {
    const tip = BigInt(this.#transaction.isOpen ? this.#transaction.tip : this.#open.database.tip)
    this.#reply.end(request, { case: "execResult", value: { rowsAffected, lastInsertId, tip } })
  }

  #admitStream(): void {
    if (this.#open.streams.size < this.#limits.openStreams) return
    throw new AgentDBError("resource_exhausted", `${this.#limits.openStreams} streams are open on this database`)
  }

  #stream(request: Request, source: RowSource, columns: Frame, tip: number, where?: "reads inside"): void {
    this.#reply.frame(columns)
    this.#startStream(request, source, tip, where)
  }

  /** @param where "reads inside": on the transaction's connection, so that its writes have to heed the stream. */
  #startStream(request: Request, source: RowSource, tip: number, where?: "reads inside"): void {
    const forget = () => {
      this.#streams.delete(stream)
      this.#transaction.streams.delete(stream)
      this.#open.streamEnded(stream)
    }
    const stream = new Stream(source, request.credit, this.#open.queue, {
      outlet: this.#reply.outlet,
      frame: (frame) => this.#reply.frame(frame),
      done: (totalRows) => {
        forget()
        this.#reply.end(request, { case: "done", value: { tip: BigInt(tip), totalRows: BigInt(totalRows) } })
      },
      failed: (error) => {
        forget()
        this.#answerFailure(request, error)
      },
    })
    this.#streams.add(stream)
    this.#open.streams.add(stream)
    if (where === "reads inside") this.#transaction.streams.add(stream)
    request.cancel = () => stream.end(canceled())
    request.addCredit = (batches) => {
      this.#transaction.touch()
      stream.addCredit(batches)
    }
    stream.start()
  }

  #captureAll(): void {
    for (const stream of [...this.#transaction.streams]) stream.capture(this.#captureRoom())
  }

  #captureRoom(): number {
    let used = 0
    for (const stream of this.#streams) used += stream.capturedBytes
    return Math.max(0, this.#limits.captureBytes - used)
  }

  #fail(request: Request, error: unknown): void {
    this.#transaction.noteEngineRollback()
    this.#open.noteFailure()
    this.#answerFailure(request, AgentDBError.from(error))
  }

  #answerFailure(request: Request, error: AgentDBError): void {
    this.#reply.fail(request, error)
    if (error.code === "data_loss") this.#open.damaged(error)
  }
}

/** Savepoint statements change what a half-read statement would see, so they count as writes. */
function isRead({ kind }: PreparedStatement): boolean {
  return kind.readonly && !kind.savepoint
}

function noColumns({ id }: Request): Frame {
  return encodeServerMessage(id, { case: "columns", value: { names: [] } })
}

function statementOf(request: Request) {
  if (request.work.case === "exec" || request.work.case === "query") return request.work.value
  throw new AgentDBError("internal", "not a statement")
}

function canceled(): AgentDBError {
  return new AgentDBError("canceled", "the request was cancelled")
}
