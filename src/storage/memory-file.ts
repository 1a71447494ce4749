import type { SyncFile } from "./storage.ts"

const chunkSize = 64 * 1024

/** A file in memory. It grows by chunks, so that a large one is never copied; unwritten parts read as zeros. */
export class MemoryFile implements SyncFile {
  readonly #chunks: (Uint8Array<ArrayBuffer> | undefined)[] = []
  readonly #limit: number
  #size = 0

  /** @param limit bytes; a write beyond it is short, as on a full disk. */
  constructor(limit = Number.MAX_SAFE_INTEGER) {
    this.#limit = limit
  }

  read(into: Uint8Array, { at }: { at: number }): number {
    const count = Math.max(0, Math.min(into.length, this.#size - at))
    for (let done = 0; done < count; ) {
      const { index, start, length } = span(at + done, count - done)
      const chunk = this.#chunks[index]
      if (chunk) into.set(chunk.subarray(start, start + length), done)
      else into.fill(0, done, done + length)
      done += length
    }
    return count
  }

  write(from: Uint8Array, { at }: { at: number }): number {
    const count = Math.max(0, Math.min(from.length, this.#limit - at))
    for (let done = 0; done < count; ) {
      const { index, start, length } = span(at + done, count - done)
      this.#chunks[index] ??= new Uint8Array(chunkSize)
      this.#chunks[index].set(from.subarray(done, done + length), start)
      done += length
    }
    if (count > 0) this.#size = Math.max(this.#size, at + count)
    return count
  }

  truncate(size: number): void {
    if (size < this.#size) {
      this.#chunks.length = Math.min(this.#chunks.length, Math.ceil(size / chunkSize))
      // What grows again later must read as zeros.
      this.#chunks[Math.floor(size / chunkSize)]?.fill(0, size % chunkSize)
    }
    this.#size = size
  }

  getSize(): number {
    return this.#size
  }

  /** The content as blob parts. They are copies: the file may change after. */
  parts(): Uint8Array<ArrayBuffer>[] {
    const parts: Uint8Array<ArrayBuffer>[] = []
    for (let at = 0; at < this.#size; at += chunkSize) {
      const part = new Uint8Array(Math.min(chunkSize, this.#size - at))
      this.read(part, { at })
      parts.push(part)
    }
    return parts
  }

  flush(): void {}

  /** The content stays: a file of memory lives as long as its storage. */
  close(): void {}
}

/** The piece of a range that lies in one chunk. */
function span(at: number, length: number): { index: number; start: number; length: number } {
  const start = at % chunkSize
  return { index: (at - start) / chunkSize, start, length: Math.min(length, chunkSize - start) }
}
