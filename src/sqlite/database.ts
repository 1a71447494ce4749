import type { DatabaseFiles, SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import { Connection } from "./connection.ts"
import { Rc } from "./constants.ts"
import { dumpDatabase, type OnPiece } from "./dump.ts"
import type { Engine } from "./engine.ts"
import type { RunContext } from "./interrupt.ts"
import { type MetaAttributes, MetaFile } from "./meta.ts"
import { Tip } from "./tip.ts"
import { emptyDatabase } from "./vfs/empty-database.ts"
import { ioResult } from "./vfs/io-error.ts"
import type { Mount } from "./vfs/mount.ts"
import { WalIndex } from "./wal-index.ts"
import { writePiece } from "./write-piece.ts"

/** Reader connections that are kept open while nobody uses them. */
const idleReaders = 4

/**
 * One open database: a connection that writes, connections that read, and the tip.
 * It owns its files from `create` or `open` on, also if those throw.
 */
export class Database {
  readonly writer: Connection
  /** Called after each commit that appended to the WAL, before it is flushed. */
  onCommit: (() => void) | undefined
  readonly #engine: Engine
  readonly #mount: Mount
  readonly #meta: MetaFile
  readonly #index: WalIndex
  readonly #tip: Tip
  readonly #idle: Connection[] = []
  readonly #leased = new Set<Connection>()
  #noted: number
  #failure: AgentDBError | undefined
  #open = true

  /**
   * A database without tables, tip 0, in new and empty files. It is there once this returns.
   * @throws AgentDBError `invalid_argument` if the attributes are too long to be kept
   */
  static create(engine: Engine, files: DatabaseFiles, attributes: MetaAttributes): Database {
    return owning(files, () => {
      files.main.truncate(0)
      writePiece(files.main, emptyDatabase(), 0)
      files.wal.truncate(0)
      files.wal.flush()
      files.main.flush()
      // Last: a valid record is what makes it a database.
      return new Database(engine, files, MetaFile.create(files.meta, attributes))
    })
  }

  /**
   * A database of the content that is in the files: a whole main file in WAL mode, an empty WAL, and of the meta file
   * what `MetaFile.announce` made before there was content. It is there once this returns, at tip 1: the content is
   * its first commit.
   * @throws AgentDBError as `create`
   */
  static adopt(engine: Engine, files: DatabaseFiles, attributes: MetaAttributes): Database {
    return owning(files, () => {
      files.wal.truncate(0)
      files.wal.flush()
      files.main.flush()
      return new Database(engine, files, MetaFile.finish(files.meta, attributes))
    })
  }

  /**
   * Recovers what a crash left, and flushes it.
   * @throws AgentDBError `data_loss` if the file, its WAL or its record is damaged, `failed_precondition` if a newer
   * version has written it, `not_found` if its creation never ended. No byte of it was changed then.
   */
  static open(engine: Engine, files: DatabaseFiles): Database {
    return owning(files, () => {
      const meta = MetaFile.open(files.meta)
      if (meta) {
        // Beside an empty file the engine takes a WAL for a leftover, and empties it.
        if (files.main.getSize() === 0) throw new AgentDBError("data_loss", "the database file is empty")
        return new Database(engine, files, meta)
      }
      if (MetaFile.isAnnounced(files.meta) || isUnfinished(files)) {
        throw new AgentDBError("not_found", "the database was never finished")
      }
      throw new AgentDBError("data_loss", "no record of the database is valid")
    })
  }

  private constructor(engine: Engine, files: DatabaseFiles, meta: MetaFile) {
    this.#engine = engine
    this.#meta = meta
    this.#mount = engine.vfs.mount(files)
    this.#index = new WalIndex(engine.heap, this.#mount.memory)
    let writer: Connection | undefined
    try {
      writer = new Connection(engine, this.#mount, "writer")
      this.writer = writer
      // The first read is what makes SQLite recover the WAL.
      firstRead(writer)
      this.#tip = new Tip(meta, this.#index, this.#mount.wal)
    } catch (error) {
      this.#mount.sealed = true
      writer?.close()
      engine.vfs.unmount(this.#mount)
      throw error
    }
    this.#noted = this.#tip.live
    this.#mount.onCheckpoint = () => this.#tip.record()
  }

  get attributes(): MetaAttributes {
    return this.#meta.record.attributes
  }

  /** Commits so far, those that are not flushed yet included. */
  get tip(): number {
    this.#check()
    return this.#tip.live
  }

  /** Commits that a power cut cannot take back. */
  get durableTip(): number {
    return this.#tip.durable
  }

  /** Commits since the last flush. */
  get unflushed(): number {
    return this.tip - this.#tip.durable
  }

  /** Call after whatever may have committed. True, and `onCommit`, if the WAL gained a commit. */
  noteCommit(): boolean {
    const { tip } = this
    if (tip === this.#noted) return false
    this.#noted = tip
    this.onCommit?.()
    return true
  }

  /**
   * Makes every commit so far durable, by one sync of the WAL.
   * @throws AgentDBError with SQLite's I/O code. What is on disk is unknown then: every later call throws the same,
   * and `abandon` is what is left.
   */
  flush(): void {
    this.#check()
    try {
      this.#mount.wal.flush()
    } catch (error) {
      this.#mount.syncFailure = ioResult(error, Rc.IOERR_FSYNC)
      this.#check()
    }
    this.#tip.markDurable()
  }

  /** Why nothing but `abandon` is left; undefined while all is well. */
  get failure(): AgentDBError | undefined {
    const { syncFailure } = this.#mount
    if (syncFailure !== undefined) {
      const message = syncFailure === Rc.FULL ? "database or disk is full" : "disk I/O error"
      this.#failure ??= new AgentDBError(this.#engine.codeName(syncFailure), message)
    }
    return this.#failure
  }

  /** A connection for one reader at a time. */
  takeReader(): Connection {
    this.#check()
    const reader = this.#idle.pop() ?? new Connection(this.#engine, this.#mount, "reader")
    this.#leased.add(reader)
    return reader
  }

  /** Its statements are finalized, so that no read transaction stays. */
  giveReader(connection: Connection): void {
    if (!this.#leased.delete(connection)) return
    if (this.#open && !this.failure && this.#idle.length < idleReaders) this.#idle.push(connection)
    else connection.close()
  }

  /** Connections that are out. */
  get readers(): number {
    return this.#leased.size
  }

  /** Bytes of the WAL up to its last commit: what a checkpoint would let it start anew from. */
  get walBytes(): number {
    return this.#index.walBytes
  }

  /**
   * Moves the WAL into the file.
   * @returns true if the WAL is empty now; false if a reader or the writer's transaction is in the way, or the disk
   * is full: the WAL keeps then what could not be moved, and a later call has less to do.
   * @throws AgentDBError as `flush`, if a sync failed
   */
  checkpoint(): boolean {
    this.#check()
    if (this.writer.inTransaction) return false
    const mode = this.#leased.size > 0 ? "PASSIVE" : "TRUNCATE"
    const statement = this.writer.prepareOwn(`PRAGMA wal_checkpoint(${mode})`)
    try {
      statement.step(ownRun())
      return statement.number(0) === 0 && mode === "TRUNCATE"
    } catch {
      return false
    } finally {
      statement.finalize()
      this.#check()
    }
  }

  /**
   * Copies the database as it is at the first step into `into`, about 1 MiB a step; writers go on meanwhile.
   * The copy is not in WAL mode and is flushed at the end. The generator's end releases the snapshot, early or not.
   * @param onPiece told of each step's bytes, as they are written.
   * @returns the tip of the snapshot and the size of the copy. The tip may be ahead of `durableTip`.
   */
  *dump(into: SyncFile, onPiece?: OnPiece): Generator<void, { tip: number; bytes: number }> {
    this.#check()
    const reader = new Connection(this.#engine, this.#mount, "reader")
    this.#leased.add(reader)
    try {
      return yield* dumpDatabase(reader, into, () => this.tip, onPiece)
    } finally {
      this.#leased.delete(reader)
      reader.close()
    }
  }

  /**
   * Ends everything cleanly: an open transaction is rolled back, the WAL moved into the file, the record written.
   * @throws AgentDBError if that fails. The files are let go all the same.
   */
  close(): void {
    if (!this.#open) return
    try {
      this.#check()
      this.#closeReaders()
      if (this.writer.inTransaction) this.writer.run("ROLLBACK")
      this.flush()
      const { tip } = this
      this.checkpoint()
      // On a full disk the WAL stays, and the record has to tell how far it was counted.
      this.#tip.record()
      this.writer.close()
      this.#check()
      Tip.close(this.#meta, tip)
    } finally {
      this.abandon()
    }
  }

  /** Lets everything go without another byte written: after a failed flush, or before deletion. Never throws. */
  abandon(): void {
    if (!this.#open) return
    this.#open = false
    this.#mount.sealed = true
    this.#closeReaders()
    this.writer.close()
    this.#engine.vfs.unmount(this.#mount)
    this.#mount.files.close()
  }

  #closeReaders(): void {
    for (const reader of [...this.#leased, ...this.#idle]) reader.close()
    this.#leased.clear()
    this.#idle.length = 0
  }

  #check(): void {
    const { failure } = this
    if (failure) throw failure
    if (!this.#open) throw new AgentDBError("internal", "the database is closed")
  }
}

/** What we run for ourselves has no limit. */
function ownRun(): RunContext {
  return { ranMs: 0, limitMs: Number.POSITIVE_INFINITY, stopped: undefined }
}

function owning(files: DatabaseFiles, action: () => Database): Database {
  try {
    return action()
  } catch (error) {
    files.close()
    throw error
  }
}

/** Without a record: whether it holds nothing but what a creation writes, some of it perhaps not. */
function isUnfinished({ main, wal }: DatabaseFiles): boolean {
  const start = emptyDatabase()
  const size = main.getSize()
  if (wal.getSize() > 0 || size > start.length) return false
  const found = new Uint8Array(size)
  main.read(found, { at: 0 })
  return found.every((byte, i) => byte === 0 || byte === start[i])
}

function firstRead(connection: Connection): void {
  const statement = connection.prepareOwn("SELECT count(*) FROM sqlite_schema")
  try {
    statement.step(ownRun())
  } finally {
    statement.finalize()
  }
}
