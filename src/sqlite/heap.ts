import { AgentDBError } from "../wire/errors.ts"
import type { SqliteExports } from "./exports.ts"

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
const encoder = new TextEncoder()

/** UTF-8 in the heap, with a terminating zero that `bytes` does not count. */
export interface HeapText {
  readonly pointer: number
  readonly bytes: number
}

/** The wasm memory. Views die when it grows, so each access takes the current one. */
export class Heap {
  readonly #memory: WebAssembly.Memory
  readonly #sqlite: SqliteExports
  #bytes: Uint8Array<ArrayBuffer>
  #view: DataView<ArrayBuffer>

  constructor(memory: WebAssembly.Memory, sqlite: SqliteExports) {
    this.#memory = memory
    this.#sqlite = sqlite
    this.#bytes = new Uint8Array(memory.buffer as ArrayBuffer)
    this.#view = new DataView(this.#bytes.buffer)
  }

  /** All of the memory; valid until the next call into the engine. */
  get bytes(): Uint8Array<ArrayBuffer> {
    // A detached buffer has no length.
    if (this.#bytes.length === 0) this.#renew()
    return this.#bytes
  }

  get view(): DataView<ArrayBuffer> {
    if (this.#bytes.length === 0) this.#renew()
    return this.#view
  }

  u32(pointer: number): number {
    return this.view.getUint32(pointer, true)
  }

  setU32(pointer: number, value: number): void {
    this.view.setUint32(pointer, value, true)
  }

  i64(pointer: number): bigint {
    return this.view.getBigInt64(pointer, true)
  }

  setI64(pointer: number, value: number | bigint): void {
    this.view.setBigInt64(pointer, BigInt(value), true)
  }

  /** A copy of the zero-terminated text at `pointer`; empty for a null pointer. */
  text(pointer: number): string {
    if (pointer === 0) return ""
    const bytes = this.bytes
    return decoder.decode(bytes.subarray(pointer, bytes.indexOf(0, pointer)))
  }

  /**
   * Memory of the engine's allocator; the caller frees it.
   * @throws AgentDBError `SQLITE_NOMEM`
   */
  allocate(bytes: number): number {
    const pointer = this.#sqlite.sqlite3_malloc(Math.max(bytes, 1))
    if (pointer === 0) throw new AgentDBError("SQLITE_NOMEM", "out of memory")
    return pointer
  }

  free(pointer: number): void {
    this.#sqlite.sqlite3_free(pointer)
  }

  /** `text` as UTF-8; the caller frees it. */
  allocateText(text: string): HeapText {
    // Short text is encoded in place; long text first, so that it does not take three times its size here.
    if (text.length <= 4096) {
      const pointer = this.allocate(text.length * 3 + 1)
      const { written } = encoder.encodeInto(text, this.bytes.subarray(pointer, pointer + text.length * 3))
      this.bytes[pointer + written] = 0
      return { pointer, bytes: written }
    }
    const encoded = encoder.encode(text)
    const pointer = this.allocate(encoded.length + 1)
    this.bytes.set(encoded, pointer)
    this.bytes[pointer + encoded.length] = 0
    return { pointer, bytes: encoded.length }
  }

  #renew(): void {
    this.#bytes = new Uint8Array(this.#memory.buffer as ArrayBuffer)
    this.#view = new DataView(this.#bytes.buffer)
  }
}
