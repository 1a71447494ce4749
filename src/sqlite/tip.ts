import type { SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { MetaFile, WalMark } from "./meta.ts"
import { countCommits, type WalIndex } from "./wal-index.ts"

/**
 * The commit sequence of an open database. It is kept beside the file, so that nothing of it shows in the file:
 * a record says how many commits there were at one position of the WAL, and the rest is counted.
 * The rules are those of src/README.md, "Order on disk"; each was found by leaving it out.
 */
export class Tip {
  readonly #meta: MetaFile
  readonly #index: WalIndex
  readonly #wal: SyncFile
  /** The tip when the change counter stood at `#baseCounter`. */
  readonly #base: number
  readonly #baseCounter: number
  #durable: number

  /**
   * Call after a first read has made SQLite recover the WAL. Flushes the WAL: what was recovered is shown from
   * here on, so it must not be lost again.
   * @throws AgentDBError `data_loss` if the record tells of commits that are not there
   */
  constructor(meta: MetaFile, index: WalIndex, wal: SyncFile) {
    this.#meta = meta
    this.#index = index
    this.#wal = wal
    this.#base = recover(meta, index, wal)
    this.#baseCounter = index.changeCounter
    wal.flush()
    this.#durable = this.#base
    const { position } = index
    // Dirty from now on: whoever lists the database must open it to know its tip.
    meta.update({ dirty: true, ...(position.mxFrame > 0 && { ...position, tip: this.#base }) })
  }

  /** Commits not yet flushed included. */
  get live(): number {
    return this.#base + ((this.#index.changeCounter - this.#baseCounter) >>> 0)
  }

  get durable(): number {
    return this.#durable
  }

  /** The WAL was flushed. */
  markDurable(): void {
    this.#durable = this.live
    const { position } = this.#index
    if (position.mxFrame > 0) this.#meta.note(position)
  }

  /** Before a checkpoint or the last close: the WAL that the record counts in is about to go. */
  record(): void {
    const { position } = this.#index
    const { record } = this.#meta
    const tip = this.live
    const isRecorded =
      position.salt1 === record.salt1 && position.salt2 === record.salt2 && position.mxFrame === record.mxFrame
    if (position.mxFrame === 0 || isRecorded) return
    this.#wal.flush()
    this.#durable = tip
    this.#meta.update({ ...position, tip })
  }

  /** After the last connection has been closed. */
  static close(meta: MetaFile, tip: number): void {
    meta.update({ tip, dirty: false })
  }
}

function recover(meta: MetaFile, index: WalIndex, wal: SyncFile): number {
  const { record, mark } = meta
  const { salt1, salt2, mxFrame } = index.position
  // What was flushed after the record was written is in the WAL, or the WAL is damaged.
  const isMarkNewer = mark?.seq === record.seq && !(isSameWal(mark, record) && mark.mxFrame <= record.mxFrame)
  if (isMarkNewer && !(isSameWal(mark, { salt1, salt2 }) && mxFrame >= mark.mxFrame)) {
    throw new AgentDBError("data_loss", `the WAL is damaged: of ${mark.mxFrame} frames that were flushed some are gone`)
  }
  if (mxFrame === 0) return record.tip
  const sameWal = isSameWal(record, { salt1, salt2 })
  if (sameWal && mxFrame < record.mxFrame) {
    throw new AgentDBError("data_loss", `the WAL ends at frame ${mxFrame}, its record tells of ${record.mxFrame}`)
  }
  return record.tip + countCommits(wal, index.pageSize, sameWal ? record.mxFrame : 0, mxFrame)
}

type WalSalts = Pick<WalMark, "salt1" | "salt2">

function isSameWal(a: WalSalts, b: WalSalts): boolean {
  return a.salt1 === b.salt1 && a.salt2 === b.salt2
}
