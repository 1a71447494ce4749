import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import type { Cell } from "./cells.ts"

const utf8 = new TextEncoder()

/** SHA-256 over values, each with its type before it and its length where that varies. */
export class Digest {
  readonly #hash = sha256.create()
  readonly #buffer = new Uint8Array(64 * 1024)
  readonly #view = new DataView(this.#buffer.buffer)
  #used = 0

  text(text: string): this {
    const bytes = utf8.encode(text)
    this.begin(true, bytes.length)
    this.more(bytes)
    return this
  }

  count(value: number): this {
    return this.cell(BigInt(value))
  }

  cell(cell: Cell): this {
    const view = this.#room(9)
    const at = this.#used
    if (cell === null) {
      view.setUint8(at, 0)
      this.#used += 1
    } else if (typeof cell === "bigint") {
      view.setUint8(at, 1)
      view.setBigInt64(at + 1, cell, true)
      this.#used += 9
    } else if (typeof cell === "number") {
      view.setUint8(at, 2)
      view.setFloat64(at + 1, cell, true)
      this.#used += 9
    } else {
      this.begin(cell.text, cell.length)
      if (cell.bytes) this.more(cell.bytes)
    }
    return this
  }

  /** A TEXT or BLOB whose bytes follow by `more`. */
  begin(text: boolean, length: number): void {
    const view = this.#room(9)
    view.setUint8(this.#used, text ? 3 : 4)
    view.setBigUint64(this.#used + 1, BigInt(length), true)
    this.#used += 9
  }

  more(bytes: Uint8Array): void {
    if (bytes.length > this.#buffer.length - this.#used) this.#flush()
    if (bytes.length > this.#buffer.length) {
      this.#hash.update(bytes)
      return
    }
    this.#buffer.set(bytes, this.#used)
    this.#used += bytes.length
  }

  /** In lowercase hex. Nothing can be added after. */
  end(): string {
    this.#flush()
    return bytesToHex(this.#hash.digest())
  }

  #room(bytes: number): DataView {
    if (bytes > this.#buffer.length - this.#used) this.#flush()
    return this.#view
  }

  #flush(): void {
    this.#hash.update(this.#buffer.subarray(0, this.#used))
    this.#used = 0
  }
}
