import type { SyncFile } from "../../storage/storage.ts"
import { AgentDBError } from "../../wire/errors.ts"

/** SQLite writes a frame in two pieces and a commit in several frames; the disk gets them in one. */
const bufferBytes = 256 * 1024
/** The file grows ahead in steps, so that what is buffered has its place: a full disk shows at the write itself. */
const growthBytes = 256 * 1024

/**
 * The WAL file with its newest writes held back until they are flushed, read past, or too many. It only joins
 * neighbours and never reorders. What was not drained is lost with the process, which is allowed for what was not
 * flushed.
 */
export class WalBuffer implements SyncFile {
  readonly #file: SyncFile
  #buffer: Uint8Array<ArrayBuffer> | undefined
  /** Where in the file the buffer's content belongs, and its length. */
  #start = 0
  #length = 0
  /** The size that SQLite knows, and that of the file, which is larger by what it grew ahead. */
  #size: number
  #fileSize: number

  constructor(file: SyncFile) {
    this.#file = file
    this.#fileSize = file.getSize()
    this.#size = this.#fileSize
  }

  read(into: Uint8Array, { at }: { at: number }): number {
    const count = Math.max(0, Math.min(into.length, this.#size - at))
    const target = into.subarray(0, count)
    const end = this.#start + this.#length
    if (this.#buffer && at >= this.#start && at + count <= end) {
      target.set(this.#buffer.subarray(at - this.#start, at - this.#start + count))
      return count
    }
    if (at < end && at + count > this.#start) this.#drain()
    return this.#file.read(target, { at })
  }

  write(from: Uint8Array, { at }: { at: number }): number {
    const end = at + from.length
    const isNeighbour = this.#length > 0 && at >= this.#start && at <= this.#start + this.#length
    if (!isNeighbour || end - this.#start > bufferBytes) {
      this.#drain()
      this.#start = at
    }
    if (from.length > bufferBytes || !this.#reserve(end)) {
      this.#drain()
      const written = this.#file.write(from, { at })
      this.#fileSize = Math.max(this.#fileSize, this.#file.getSize())
      if (written === from.length) this.#size = Math.max(this.#size, end)
      return written
    }
    this.#buffer ??= new Uint8Array(bufferBytes)
    this.#buffer.set(from, at - this.#start)
    this.#length = Math.max(this.#length, end - this.#start)
    this.#size = Math.max(this.#size, end)
    return from.length
  }

  truncate(size: number): void {
    if (size <= this.#start) this.#length = 0
    this.#drain()
    this.#file.truncate(size)
    // Before the file grows ahead again: a disk that kept that and forgot this would cut the old WAL short.
    this.#file.flush()
    this.#size = size
    this.#fileSize = size
  }

  getSize(): number {
    return this.#size
  }

  flush(): void {
    this.#drain()
    this.#file.flush()
  }

  /** Whoever opened the file closes it. */
  close(): void {}

  /** The buffer is kept until its content has been written. */
  #drain(): void {
    if (!this.#buffer || this.#length === 0) return
    const written = this.#file.write(this.#buffer.subarray(0, this.#length), { at: this.#start })
    if (written !== this.#length) throw new AgentDBError("SQLITE_FULL", "database or disk is full")
    this.#length = 0
  }

  /** False if the disk has no room to grow ahead: what there is must be tried by writing. */
  #reserve(end: number): boolean {
    if (end <= this.#fileSize) return true
    const wanted = Math.ceil(end / growthBytes) * growthBytes
    try {
      this.#file.truncate(wanted)
      this.#fileSize = wanted
      return true
    } catch {
      return false
    }
  }
}
