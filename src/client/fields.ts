import { ByteReader, ByteWriter } from "../wire/bytes.ts"
import type { Frame } from "../wire/frames.ts"

/**
 * As much of protobuf as the small messages of the schema need. The generic runtime alone
 * is 19 KB gzipped, more than everything else that an agent ships; the tests hold both
 * against each other.
 */

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** Builds one message, field by field. A default value is left out, unless `always`. */
export class MessageWriter {
  readonly #out = new ByteWriter()

  text(field: number, value: string, always = false): this {
    return value || always ? this.bytes(field, encoder.encode(value)) : this
  }

  /** Any 64-bit integer, negative ones in two's complement. */
  int(field: number, value: number | bigint, always = false): this {
    if (!value && !always) return this
    const out = this.#out
    out.varint(field << 3)
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest > 0x7fn; rest >>= 7n) out.byte(Number(rest & 0x7fn) | 0x80)
    out.byte(Number(rest))
    return this
  }

  double(field: number, value: number): this {
    this.#out.varint((field << 3) | 1)
    this.#out.double(value)
    return this
  }

  /** Always there, also when it is empty: bytes of a oneof, and messages. */
  bytes(field: number, value: Uint8Array): this {
    this.#out.varint((field << 3) | 2)
    this.#out.varint(value.length)
    this.#out.append(value)
    return this
  }

  /** In a buffer of its own. */
  finish(): Frame {
    return this.#out.view().slice()
  }
}

/** A message taken apart; what a field means is its reader's to say. Views are over the message. */
export class MessageReader {
  readonly #fields = new Map<number, (bigint | Uint8Array<ArrayBuffer>)[]>()
  /** Field numbers, in the order they came. */
  readonly order: number[] = []

  /** @throws Error if the bytes are no message. */
  constructor(bytes: Uint8Array<ArrayBuffer>) {
    const reader = new ByteReader(bytes)
    while (!reader.done) {
      const tag = reader.tag()
      const field = tag >>> 3
      const wireType = tag & 7
      if (wireType === 0) this.#add(field, varint64(reader))
      else if (wireType === 2) this.#add(field, reader.delimited())
      else reader.skip(tag)
    }
  }

  /** An int64, int32 or uint32; the last one counts. */
  int(field: number): bigint {
    const value = this.#fields.get(field)?.at(-1)
    return typeof value === "bigint" ? BigInt.asIntN(64, value) : 0n
  }

  number(field: number): number {
    return Number(this.int(field))
  }

  /** The low 32 bits, as every codec reads a uint32. */
  uint32(field: number): number {
    return Number(BigInt.asUintN(32, this.int(field)))
  }

  text(field: number): string {
    return this.texts(field).at(-1) ?? ""
  }

  texts(field: number): string[] {
    return this.parts(field).map((part) => decoder.decode(part))
  }

  /** Every occurrence of a message, string or bytes field. */
  parts(field: number): Uint8Array<ArrayBuffer>[] {
    return (this.#fields.get(field) ?? []).filter((part) => typeof part !== "bigint")
  }

  #add(field: number, value: bigint | Uint8Array<ArrayBuffer>): void {
    this.order.push(field)
    const values = this.#fields.get(field)
    if (values) values.push(value)
    else this.#fields.set(field, [value])
  }
}

function varint64(reader: ByteReader): bigint {
  const start = reader.at
  const value = reader.varint()
  // Seven bytes are exact in a number; longer ones are read again.
  if (reader.at - start <= 7) return BigInt(value)
  let exact = 0n
  for (let at = reader.at - 1; at >= start; at--) exact = (exact << 7n) | BigInt((reader.bytes[at] as number) & 0x7f)
  return BigInt.asUintN(64, exact)
}
