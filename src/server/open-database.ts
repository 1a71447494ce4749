import { macrotask } from "../link/macrotask.ts"
import type { Database } from "../sqlite/database.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"
import type { Clock } from "./clock.ts"
import type { RunQueue } from "./run-queue.ts"
import type { Stream } from "./stream.ts"
import { WriteTurn } from "./write-turn.ts"

/** Commits that may wait for one flush. */
const groupSize = 64
/** A WAL above this is checkpointed at the next gap between readers. */
const checkpointBytes = 4 * 1024 * 1024
/** A database that wrote nothing for this long gets its WAL emptied. */
const restMs = 1000
/** How long writers wait for the streams that keep a WAL above its limit; less than they would wait for the turn. */
const gapWaitMs = 2_000

/** A socket on the database, as the commit path sees it. */
export interface Member {
  /** Everything committed so far is durable. */
  flushed(): void
  /** Storage failed or the database is gone: every live request ends with this, then the socket closes. */
  severed(error: AgentDBError, closeCode: number): void
}

/** What an open database tells, and asks for. */
export interface OpenDatabaseHooks {
  /** Each durable tip. */
  tip(tip: number): void
  /** Storage failed, or the file is damaged; all members have been severed by then. */
  failed(error: AgentDBError): void
  /** A request came. */
  used(): void
  /** Opens the files again after a rest. */
  reopen(): Promise<Database>
}

/**
 * A database that is in use, shared by its sockets: the write turn, its streams, and the commit path. While nobody
 * asks for anything its files may be let go; the sockets stay.
 */
export class OpenDatabase {
  readonly turn: WriteTurn
  readonly queue: RunQueue
  readonly streams = new Set<Stream>()
  readonly members = new Set<Member>()
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #hooks: OpenDatabaseHooks
  /** Undefined while its files are let go. */
  #database: Database | undefined
  #waking: Promise<void> | undefined
  #tipAsleep = 0
  #pins = 0
  #flushScheduled = false
  #gone = false
  #disarmRest = () => {}
  /** Ends the wait for a gap between readers, during which nobody writes. */
  #endGapWait: (() => void) | undefined

  constructor(database: Database, limits: Limits, clock: Clock, queue: RunQueue, hooks: OpenDatabaseHooks) {
    this.#database = database
    this.queue = queue
    this.turn = new WriteTurn(clock, limits.writeWaitMs, () => this.#keepTurn())
    this.#limits = limits
    this.#clock = clock
    this.#hooks = hooks
  }

  get database(): Database {
    if (!this.#database) throw new AgentDBError("internal", "the database is not open")
    return this.#database
  }

  /** Whether its files are let go: `wake` comes before anything else. */
  get asleep(): boolean {
    return this.#database === undefined
  }

  get durableTip(): number {
    return this.#database?.durableTip ?? this.#tipAsleep
  }

  /** Whether nobody would notice if its files were let go. */
  get idle(): boolean {
    const isQuiet = this.turn.free && this.streams.size === 0 && this.#pins === 0 && this.#waking === undefined
    return isQuiet && !this.#gone && this.#database?.readers === 0
  }

  /** Keeps the files open until the returned function is called. */
  pin(): () => void {
    this.#pins++
    return () => {
      this.#pins--
    }
  }

  /** A request came. */
  touch(): void {
    this.#hooks.used()
  }

  /** Lets the files go, in good order. @returns false if it is in use, or fails */
  sleep(): boolean {
    if (!this.idle) return false
    this.flush()
    const database = this.#database
    if (this.#gone || !database) return false
    this.#disarmRest()
    this.#tipAsleep = database.durableTip
    this.#database = undefined
    try {
      database.close()
    } catch {
      // All of it is flushed: the next opening recovers it.
    }
    return true
  }

  /** Opens the files again. What it rejects with, the request gets that needed it. */
  wake(): Promise<void> {
    this.#waking ??= this.#reopen().finally(() => {
      this.#waking = undefined
    })
    return this.#waking
  }

  /** Settles when an opening that is under way has ended. */
  get waking(): Promise<void> | undefined {
    return this.#waking
  }

  async #reopen(): Promise<void> {
    if (!this.asleep || this.#gone) return
    const database = await this.#hooks.reopen()
    if (this.#gone) database.abandon()
    else this.#database = database
  }

  /** False once storage failed or the database was let go: no statement can run on it any more. */
  get alive(): boolean {
    return !this.#gone && this.#database?.failure === undefined
  }

  /** Whether frames must wait for a flush: for one that fails, too, if the engine met a failed sync by itself. */
  get unflushed(): boolean {
    const database = this.#database
    return !this.#gone && database !== undefined && (database.failure !== undefined || database.unflushed > 0)
  }

  /** To be called after anything that may have committed. Counts the commit and sees to its flush. */
  committed(): void {
    if (!this.alive || !this.database.noteCommit()) return
    if (this.database.unflushed >= groupSize) this.flush()
    else this.#scheduleFlush()
  }

  /** To be called after anything that failed: a failed sync ends every socket. */
  noteFailure(): void {
    if (!this.#gone && this.#database?.failure !== undefined) this.#scheduleFlush()
  }

  /** The file turned out not to be what was written: nobody goes on with it, and no byte of it is changed any more. */
  damaged(error: AgentDBError): void {
    this.flush()
    this.#fail(error)
  }

  /**
   * The files were erased by somebody else: every socket ends. The handles are left alone, since Chromium never comes
   * back from closing or flushing one whose origin was cleared, and nothing of them would be kept.
   */
  erased(error: AgentDBError): void {
    if (!this.#gone) this.#end(error)
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return
    this.#flushScheduled = true
    // Requests that are already here join the group.
    macrotask(() => {
      this.#flushScheduled = false
      this.flush()
    })
  }

  /** Makes the pending commits durable and lets go what waits for it. Never throws: a failure severs the sockets. */
  flush(): void {
    if (!this.unflushed) return
    try {
      this.database.flush()
    } catch (error) {
      this.#fail(AgentDBError.from(error))
      return
    }
    for (const member of this.members) member.flushed()
    this.#hooks.tip(this.durableTip)
    // Otherwise it is seen to when the turn is released.
    if (this.turn.free && this.#tidy() === "blocked" && this.turn.tryTake()) this.#awaitGap()
    this.#armRest()
  }

  streamEnded(stream: Stream): void {
    this.streams.delete(stream)
    // It may have been what kept the WAL from being emptied.
    if (!this.#gone && this.#database && this.#database.walBytes > 0) this.#armRest()
    if (this.#readingStreams().length === 0) this.#endGapWait?.()
  }

  #armRest(): void {
    this.#disarmRest()
    if (!this.#gone) this.#disarmRest = this.#clock.after(restMs, () => this.#rest())
  }

  /** Empties the WAL if nobody is in the way. */
  #rest(): void {
    if (this.#gone || this.asleep) return
    if (!this.turn.free) {
      this.#armRest()
      return
    }
    this.flush()
    if (!this.#gone && this.database.walBytes > 0) this.#checkpoint()
  }

  /** Runs `job` inside a transaction of the write connection; whatever fails undoes all of it. */
  atomically<T>(begin: string, commit: string, rollback: string, job: () => T): T {
    const { writer } = this.database
    writer.run(begin)
    try {
      const result = job()
      writer.run(commit)
      return result
    } catch (error) {
      // The engine may have ended it by itself.
      if (writer.inTransaction) writer.run(rollback)
      throw error
    }
  }

  /** Runs `job` as a part of the open transaction: whatever fails undoes that part only. */
  savepoint<T>(job: () => T): T {
    const name = "agentdb_part"
    return this.atomically(`SAVEPOINT ${name}`, `RELEASE ${name}`, `ROLLBACK TO ${name}; RELEASE ${name}`, job)
  }

  /** Ends every socket on it. */
  sever(error: AgentDBError, closeCode: number): void {
    for (const member of [...this.members]) member.severed(error, closeCode)
  }

  /**
   * Nobody uses it any more: leaves a clean file behind.
   * @returns false if it had failed, or fails now
   * @throws AgentDBError if it is not closed cleanly; it is let go all the same.
   */
  close(): boolean {
    this.#disarmRest()
    if (this.#gone) return false
    this.flush()
    if (this.#gone) return false
    this.#gone = true
    this.#endGapWait?.()
    this.#database?.close()
    return true
  }

  /** Lets go without leaving anything in order: the file is about to be erased. */
  discard(): void {
    this.#disarmRest()
    if (this.#gone) return
    this.#gone = true
    this.#endGapWait?.()
    this.#database?.abandon()
  }

  /**
   * Keeps the WAL from growing: at a gap between readers, or by ending the streams that keep it from being reset.
   * @returns "blocked" if it is above its limit and streams that are not stalled are in the way
   */
  #tidy(): "done" | "blocked" {
    if (this.#gone || this.database.walBytes <= checkpointBytes || this.database.unflushed > 0) return "done"
    while (!this.#checkpoint() && !this.#gone && this.database.readers > 0) {
      if (this.database.walBytes <= this.#limits.walBytes) return "done"
      const reading = this.#readingStreams()
      const oldest = reading.find((stream) => stream.stalled)
      // A dump is in nobody's way for long, and must not be what stops writers.
      if (!oldest) return reading.length > 0 ? "blocked" : "done"
      this.#endStream(oldest, "while it waited for its peer")
    }
    return "done"
  }

  /** The turn was released, and the next in line would write on: now or never. */
  #keepTurn(): boolean {
    if (this.#gone || this.asleep || this.database.walBytes <= checkpointBytes) return false
    this.flush()
    if (this.#gone || this.#tidy() === "done") return false
    this.#awaitGap()
    return true
  }

  /** The turn is held so that nobody writes until the streams have ended, or have had their time. */
  #awaitGap(): void {
    const disarm = this.#clock.after(Math.min(gapWaitMs, this.#limits.writeWaitMs / 2), () => {
      for (const stream of this.#readingStreams()) this.#endStream(stream, "for too long")
      this.#endGapWait?.()
    })
    this.#endGapWait = () => {
      this.#endGapWait = undefined
      disarm()
      if (!this.#gone) this.#tidy()
      this.turn.pass()
    }
  }

  #readingStreams(): Stream[] {
    return [...this.streams].filter((stream) => stream.reading)
  }

  #endStream(stream: Stream, how: string): void {
    const why = `its snapshot kept the write-ahead log above ${this.#limits.walBytes} bytes ${how}`
    stream.end(new AgentDBError("aborted", `the stream was ended: ${why}`))
  }

  #checkpoint(): boolean {
    try {
      return this.database.checkpoint()
    } catch (error) {
      // A full disk leaves everything in the WAL, where it is as safe; a failed flush leaves nothing certain.
      if (this.database.failure) this.#fail(AgentDBError.from(error))
      return false
    }
  }

  #fail(error: AgentDBError): void {
    this.#disarmRest()
    if (this.#gone) return
    this.#end(error)
    this.#database?.abandon()
  }

  #end(error: AgentDBError): void {
    this.#disarmRest()
    this.#gone = true
    this.#endGapWait?.()
    this.sever(error, 1011)
    this.#hooks.failed(error)
  }
}
