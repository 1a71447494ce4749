import type { SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Heap } from "./heap.ts"
import type { SharedMemory } from "./vfs/shared-memory.ts"

const walHeaderBytes = 32
const frameHeaderBytes = 24
/** Frames are counted by reads of about this size. */
const readBytes = 1024 * 1024

/** Where the WAL of a file stands: its generation, and its frames up to the last commit. */
export interface WalPosition {
  readonly salt1: number
  readonly salt2: number
  readonly mxFrame: number
}

/** The header of the WAL index, as SQLite's connections keep it in shared memory (walformat, section 2.1). */
export class WalIndex {
  readonly #heap: Heap
  readonly #memory: SharedMemory

  constructor(heap: Heap, memory: SharedMemory) {
    this.#heap = heap
    this.#memory = memory
  }

  /** Moves by one with each transaction that appended to the WAL; wraps at 2^32. */
  get changeCounter(): number {
    return this.#u32(8)
  }

  get pageSize(): number {
    const size = this.#heap.view.getUint16(this.#start() + 14, true)
    // 65,536 does not fit.
    return size === 1 ? 65_536 : size
  }

  get position(): WalPosition {
    return { salt1: this.#u32(32), salt2: this.#u32(36), mxFrame: this.#u32(16) }
  }

  /** Bytes of the WAL up to its last commit. */
  get walBytes(): number {
    const { mxFrame } = this.position
    return mxFrame === 0 ? 0 : walHeaderBytes + mxFrame * (frameHeaderBytes + this.pageSize)
  }

  #u32(offset: number): number {
    return this.#heap.u32(this.#start() + offset)
  }

  #start(): number {
    const start = this.#memory.header
    if (start === undefined) throw new AgentDBError("data_loss", "the database is not in WAL mode")
    return start
  }
}

/** The commits among the frames after `after` up to `last`: a commit's last frame tells the size of the database. */
export function countCommits(wal: SyncFile, pageSize: number, after: number, last: number): number {
  const frameBytes = frameHeaderBytes + pageSize
  const perRead = Math.max(1, Math.floor(readBytes / frameBytes))
  const buffer = new Uint8Array(Math.min(perRead, last - after) * frameBytes)
  const view = new DataView(buffer.buffer)
  let commits = 0
  for (let frame = after; frame < last; frame += perRead) {
    const count = Math.min(perRead, last - frame)
    const piece = buffer.subarray(0, count * frameBytes)
    if (wal.read(piece, { at: walHeaderBytes + frame * frameBytes }) !== piece.length) {
      throw new AgentDBError("data_loss", "the WAL is shorter than its index")
    }
    for (let i = 0; i < count; i++) if (view.getUint32(i * frameBytes + 4) !== 0) commits++
  }
  return commits
}
