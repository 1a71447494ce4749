/** A growing byte buffer with the few protobuf primitives that the hot codec needs. */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>
  length = 0

  constructor(capacity = 64) {
    this.#bytes = new Uint8Array(capacity)
  }

  /** The bytes written so far, as a view that the next write may invalidate. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.length)
  }

  /** Makes room for `count` more bytes and returns the buffer to write them to, from `length` on. */
  reserve(count: number): Uint8Array<ArrayBuffer> {
    const needed = this.length + count
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
      grown.set(this.view())
      this.#bytes = grown
    }
    return this.#bytes
  }

  byte(value: number): void {
    this.reserve(1)[this.length++] = value
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length).set(bytes, this.length)
    this.length += bytes.length
  }

  /** An unsigned varint below 2^53. */
  varint(value: number): void {
    const out = this.reserve(8)
    let at = this.length
    let rest = value
    while (rest >= 0x8000_0000) {
      out[at++] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    while (rest > 0x7f) {
      out[at++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    out[at++] = rest
    this.length = at
  }

  /** A zigzag varint (sint64) of a safe whole number. */
  zigzag(value: number): void {
    if (value >= -0x4000_0000 && value < 0x4000_0000) this.varint(((value << 1) ^ (value >> 31)) >>> 0)
    else this.zigzag64(BigInt(value))
  }

  /** A zigzag varint (sint64) of any int64. */
  zigzag64(value: bigint): void {
    let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
    const out = this.reserve(10)
    let at = this.length
    while (rest > 0x7fn) {
      out[at++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    out[at++] = Number(rest)
    this.length = at
  }

  double(value: number): void {
    const out = this.reserve(8)
    new DataView(out.buffer).setFloat64(this.length, value, true)
    this.length += 8
  }

  /** Drops the last varint written. */
  dropVarint(): void {
    let at = this.length - 1
    const bytes = this.#bytes
    while (at > 0 && (bytes[at - 1] as number) >= 0x80) at--
    this.length = at
  }

  clear(keepCapacity: number): void {
    this.length = 0
    if (this.#bytes.length > keepCapacity) this.#bytes = new Uint8Array(keepCapacity)
  }
}

/** Bytes that an unsigned varint takes. */
export function varintSize(value: number): number {
  let size = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++
  return size
}

/** A cursor over protobuf bytes; throws on anything that runs past the end. */
export class ByteReader {
  readonly bytes: Uint8Array<ArrayBuffer>
  at = 0
  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.bytes = bytes
  }

  get done(): boolean {
    return this.at >= this.bytes.length
  }

  /** An unsigned varint as a number; the bits above 2^53 are not kept exactly. */
  varint(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < 10; i++) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new Error("truncated varint")
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 128
    }
    throw new Error("varint too long")
  }

  /** The next length-delimited field, as a view. */
  delimited(): Uint8Array<ArrayBuffer> {
    const length = this.varint()
    const start = this.at
    if (start + length > this.bytes.length) throw new Error("truncated field")
    this.at = start + length
    return this.bytes.subarray(start, this.at)
  }

  /** Skips a field of this wire type. */
  skip(wireType: number): void {
    switch (wireType) {
      case 0:
        this.varint()
        return
      case 1:
        this.at += 8
        break
      case 2:
        this.delimited()
        return
      case 5:
        this.at += 4
        break
      default:
        throw new Error(`wire type ${wireType}`)
    }
    if (this.at > this.bytes.length) throw new Error("truncated field")
  }
}
