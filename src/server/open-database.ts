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

/** A socket on the database, as the commit path sees it. */
export interface Member {
  /** Everything committed so far is durable. */
  flushed(): void
  /** Storage failed or the database is gone: every live request ends with this, then the socket closes. */
  severed(error: AgentDBError, closeCode: number): void
}

/** An open database, shared by its sockets: the write turn, its streams, and the commit path. */
export class OpenDatabase {
  readonly database: Database
  readonly turn: WriteTurn
  readonly queue: RunQueue
  readonly streams = new Set<Stream>()
  readonly members = new Set<Member>()
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #onTip: (tip: number) => void
  readonly #onFailure: (error: AgentDBError) => void
  #flushScheduled = false
  #gone = false
  #disarmRest = () => {}

  /**
   * @param onTip told each durable tip.
   * @param onFailure told once if storage fails; all members have been severed by then.
   */
  constructor(
    database: Database,
    limits: Limits,
    clock: Clock,
    queue: RunQueue,
    onTip: (tip: number) => void,
    onFailure: (error: AgentDBError) => void,
  ) {
    this.database = database
    this.queue = queue
    this.turn = new WriteTurn(clock, limits.writeWaitMs)
    this.#limits = limits
    this.#clock = clock
    this.#onTip = onTip
    this.#onFailure = onFailure
  }

  /** False once storage failed or the database was let go: no statement can run on it any more. */
  get alive(): boolean {
    return !this.#gone && this.database.failure === undefined
  }

  /** Whether frames must wait for a flush: for one that fails, too, if the engine met a failed sync by itself. */
  get unflushed(): boolean {
    return !this.#gone && (this.database.failure !== undefined || this.database.unflushed > 0)
  }

  /** To be called after anything that may have committed. Counts the commit and sees to its flush. */
  committed(): void {
    if (!this.alive || !this.database.noteCommit()) return
    if (this.database.unflushed >= groupSize) this.flush()
    else this.#scheduleFlush()
  }

  /** To be called after anything that failed: a failed sync ends every socket. */
  noteFailure(): void {
    if (!this.#gone && this.database.failure !== undefined) this.#scheduleFlush()
  }

  /** The file turned out not to be what was written: nobody goes on with it, and no byte of it is changed any more. */
  damaged(error: AgentDBError): void {
    this.flush()
    this.#fail(error)
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
    this.#onTip(this.database.durableTip)
    this.#tidy()
    this.#armRest()
  }

  streamEnded(stream: Stream): void {
    this.streams.delete(stream)
    // It may have been what kept the WAL from being emptied.
    if (!this.#gone && this.database.walBytes > 0) this.#armRest()
  }

  #armRest(): void {
    this.#disarmRest()
    if (!this.#gone) this.#disarmRest = this.#clock.after(restMs, () => this.#rest())
  }

  /** Empties the WAL if nobody is in the way. */
  #rest(): void {
    if (this.#gone || !this.turn.free) return
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
    this.database.close()
    return true
  }

  /** Lets go without leaving anything in order: the file is about to be erased. */
  discard(): void {
    this.#disarmRest()
    if (this.#gone) return
    this.#gone = true
    this.database.abandon()
  }

  /** Keeps the WAL from growing: at a gap, or by ending the streams that keep it from being reset. */
  #tidy(): void {
    if (this.#gone || this.database.walBytes <= checkpointBytes) return
    if (!this.turn.free || this.database.unflushed > 0) return
    while (!this.#checkpoint() && !this.#gone && this.database.readers > 0) {
      if (this.database.walBytes <= this.#limits.walBytes) return
      const [oldest] = [...this.streams].filter((stream) => stream.reading && stream.stalled)
      if (!oldest) return
      const why = `its snapshot kept the write-ahead log above ${this.#limits.walBytes} bytes while it waited for credit`
      oldest.end(new AgentDBError("aborted", `the stream was ended: ${why}`))
    }
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
    this.#gone = true
    this.sever(error, 1011)
    this.database.abandon()
    this.#onFailure(error)
  }
}
