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

/** Groups inside each other: as many as the generic codec takes. */
const maxDepth = 100

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

  /** A varint as a uint32: its low 32 bits, however long it is. */
  uint32(): number {
    let value = 0
    for (let i = 0; i < 10; i++) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new Error("truncated varint")
      if (i < 5) value |= (byte & 0x7f) << (i * 7)
      if (byte < 0x80) return value >>> 0
    }
    throw new Error("varint too long")
  }

  /** A field number and wire type, as `number * 8 + type`. */
  tag(): number {
    const tag = this.uint32()
    if (tag < 8) throw new Error("field number 0")
    return tag
  }

  /** The next length-delimited field, as a view. */
  delimited(): Uint8Array<ArrayBuffer> {
    const length = this.varint()
    const start = this.at
    if (start + length > this.bytes.length) throw new Error("truncated field")
    this.at = start + length
    return this.bytes.subarray(start, this.at)
  }

  /** Skips the field of this tag. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case 0:
        this.varint()
        return
      case 1:
        this.at += 8
        break
      case 2: {
        const length = this.varint()
        this.at += length
        break
      }
      case 3:
        this.#skipGroup(tag >>> 3, depth)
        return
      case 5:
        this.at += 4
        break
      default:
        throw new Error(`wire type ${tag & 7}`)
    }
    if (this.at > this.bytes.length) throw new Error("truncated field")
  }

  /** Fields up to the end of a group, which an unknown field may be. */
  #skipGroup(field: number, depth: number): void {
    if (depth === maxDepth) throw new Error("groups too deep")
    for (;;) {
      const tag = this.tag()
      if ((tag & 7) !== 4) this.skip(tag, depth + 1)
      else if (tag >>> 3 === field) return
      else throw new Error("a group ends that did not start")
    }
  }
}

/** The bytes of all pieces: for protobuf, the merged message. The first one itself where it is the only one. */
export function joinPieces(pieces: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [first, ...others] = pieces
  if (first === undefined || others.length === 0) return first ?? new Uint8Array(0)
  const out = new Uint8Array(pieces.reduce((total, piece) => total + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    out.set(piece, at)
    at += piece.length
  }
  return out
}
