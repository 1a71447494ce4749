import { AgentDB_Wire_ValueType as ValueType } from "../gen/livekit_agentdb_pb.ts"
import { ByteReader, joinPieces } from "./bytes.ts"
import { AgentDBError } from "./errors.ts"
import type { Value } from "./values.ts"

export { ValueType }

/** How values leave a column. */
export interface ValueOptions {
  /** `auto`: a number where it is safe, else a bigint; `number` throws RangeError where it is not. */
  integers?: "auto" | "bigint" | "number" | undefined
  /** TEXT that is not UTF-8: U+FFFD in its place, or an `invalid_response` error. */
  text?: "replace" | "strict" | undefined
}

/** A ColumnBatch read as columns. All views are over the frame it came in. */
export interface ColumnBatch {
  readonly rows: number
  readonly columns: readonly Column[]
}

const replacing = new TextDecoder("utf-8", { ignoreBOM: true })
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true })
// Every byte becomes one code unit, so offsets into bytes are offsets into the string.
const singleByte = new TextDecoder("latin1")
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII includes them
const ascii = /^[\x00-\x7f]*$/
const none = new Uint8Array(0)

/** One column of a batch, decoded when asked. */
export class Column {
  /** One ValueType a row. */
  readonly types: Uint8Array<ArrayBuffer>
  readonly #ints: Uint8Array<ArrayBuffer>
  readonly #doubles: Uint8Array<ArrayBuffer>
  readonly #text: Uint8Array<ArrayBuffer>
  readonly #textEnds: number[]
  readonly #blob: Uint8Array<ArrayBuffer>
  readonly #blobEnds: number[]

  constructor(parts: ColumnParts) {
    this.types = parts.types
    this.#ints = parts.ints
    this.#doubles = parts.doubles
    this.#text = parts.text
    this.#textEnds = parts.textEnds
    this.#blob = parts.blob
    this.#blobEnds = parts.blobEnds
  }

  /** The storage class of a row's value. */
  type(row: number): ValueType {
    const type = this.types[row]
    if (type === undefined) throw new RangeError(`row ${row} of ${this.types.length}`)
    return type
  }

  /** All INTEGER values of the column, in row order, without the rows of other classes. */
  ints(): BigInt64Array<ArrayBuffer> {
    return BigInt64Array.from(readZigzags(this.#ints, "bigint") as bigint[])
  }

  /** All REAL values of the column, in row order, without the rows of other classes. */
  doubles(): Float64Array<ArrayBuffer> {
    const bytes = this.#doubles
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const out = new Float64Array(bytes.length / 8)
    for (let i = 0; i < out.length; i++) out[i] = view.getFloat64(i * 8, true)
    return out
  }

  /** The bytes of all TEXT and BLOB values of the column, in row order, as views over the frame. */
  bytes(): Uint8Array<ArrayBuffer>[] {
    const out: Uint8Array<ArrayBuffer>[] = []
    const next = { text: 0, blob: 0 }
    const start = { text: 0, blob: 0 }
    for (const type of this.types) {
      if (type !== ValueType.TEXT && type !== ValueType.BLOB) continue
      const kind = type === ValueType.TEXT ? "text" : "blob"
      const end = (kind === "text" ? this.#textEnds : this.#blobEnds)[next[kind]++] as number
      out.push((kind === "text" ? this.#text : this.#blob).subarray(start[kind], end))
      start[kind] = end
    }
    return out
  }

  /** One value a row. Blobs are copies. */
  values(options: ValueOptions = {}): Value[] {
    const { types } = this
    const ints = readZigzags(this.#ints, options.integers ?? "auto")
    const doubles = this.doubles()
    const text = textReader(this.#text, options.text ?? "replace")
    const out: Value[] = new Array(types.length)
    let int = 0
    let double = 0
    let textIndex = 0
    let textStart = 0
    let blobIndex = 0
    let blobStart = 0
    for (let row = 0; row < types.length; row++) {
      switch (types[row]) {
        case ValueType.NULL:
          out[row] = null
          break
        case ValueType.INT:
          out[row] = ints[int++] as number | bigint
          break
        case ValueType.DOUBLE:
          out[row] = doubles[double++] as number
          break
        case ValueType.TEXT: {
          const end = this.#textEnds[textIndex++] as number
          out[row] = text(textStart, end)
          textStart = end
          break
        }
        case ValueType.BLOB: {
          const end = this.#blobEnds[blobIndex++] as number
          out[row] = this.#blob.slice(blobStart, end)
          blobStart = end
          break
        }
      }
    }
    return out
  }
}

interface ColumnParts {
  types: Uint8Array<ArrayBuffer>
  ints: Uint8Array<ArrayBuffer>
  doubles: Uint8Array<ArrayBuffer>
  text: Uint8Array<ArrayBuffer>
  textEnds: number[]
  blob: Uint8Array<ArrayBuffer>
  blobEnds: number[]
}

/** @throws AgentDBError `invalid_response` if the parts do not agree with each other. */
export function decodeColumnBatch(bytes: Uint8Array<ArrayBuffer>): ColumnBatch {
  const reader = new ByteReader(bytes)
  const columns: Column[] = []
  let rows = 0
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === 0x0a) columns.push(decodeColumn(reader.delimited()))
    else if (tag === 0x10) rows = reader.uint32()
    else reader.skip(tag)
  }
  for (const column of columns) {
    if (column.types.length !== rows) invalid(`${column.types.length} values in a batch of ${rows} rows`)
  }
  return { rows, columns }
}

function decodeColumn(bytes: Uint8Array<ArrayBuffer>): Column {
  const reader = new ByteReader(bytes)
  let types = none
  let text = none
  let blob = none
  // A repeated scalar may come packed, one by one, or in several runs.
  const ints: Uint8Array<ArrayBuffer>[] = []
  const doubles: Uint8Array<ArrayBuffer>[] = []
  const textEnds: number[] = []
  const blobEnds: number[] = []
  while (!reader.done) {
    const tag = reader.tag()
    const start = reader.at
    switch (tag) {
      case 0x0a:
        types = reader.delimited()
        break
      case 0x12:
        ints.push(reader.delimited())
        break
      case 0x10:
        reader.skip(tag)
        ints.push(bytes.subarray(start, reader.at))
        break
      case 0x1a:
        doubles.push(reader.delimited())
        break
      case 0x19:
        reader.skip(tag)
        doubles.push(bytes.subarray(start, reader.at))
        break
      case 0x22:
        text = reader.delimited()
        break
      case 0x2a:
        readVarints(reader.delimited(), textEnds)
        break
      case 0x28:
        textEnds.push(reader.uint32())
        break
      case 0x32:
        blob = reader.delimited()
        break
      case 0x3a:
        readVarints(reader.delimited(), blobEnds)
        break
      case 0x38:
        blobEnds.push(reader.uint32())
        break
      default:
        reader.skip(tag)
    }
  }
  const parts = { types, ints: joinPieces(ints), doubles: joinPieces(doubles), text, textEnds, blob, blobEnds }
  check(parts)
  return new Column(parts)
}

function check(parts: ColumnParts): void {
  const counts = [0, 0, 0, 0, 0]
  for (const type of parts.types) {
    if (type >= counts.length) invalid(`value type ${type}`)
    ;(counts[type] as number)++
  }
  if (countVarints(parts.ints) !== counts[ValueType.INT]) invalid("integers do not match their tags")
  if (parts.doubles.length !== (counts[ValueType.DOUBLE] as number) * 8) invalid("doubles do not match their tags")
  checkEnds("text", parts.textEnds, parts.text.length, counts[ValueType.TEXT] as number)
  checkEnds("blob", parts.blobEnds, parts.blob.length, counts[ValueType.BLOB] as number)
}

function checkEnds(kind: string, ends: number[], length: number, count: number): void {
  if (ends.length !== count) invalid(`${kind} offsets do not match their tags`)
  let before = 0
  for (const end of ends) {
    if (end < before || end > length) invalid(`${kind} offset ${end} outside ${before}..${length}`)
    before = end
  }
}

function invalid(what: string): never {
  throw new AgentDBError("invalid_response", `malformed ColumnBatch: ${what}`)
}

function readVarints(bytes: Uint8Array<ArrayBuffer>, into: number[]): void {
  const reader = new ByteReader(bytes)
  while (!reader.done) into.push(reader.uint32())
}

function countVarints(bytes: Uint8Array): number {
  let count = 0
  let length = 0
  for (const byte of bytes) {
    if (++length > 10) invalid("integer over 64 bits")
    if (byte >= 0x80) continue
    count++
    length = 0
  }
  if (length > 0) invalid("truncated integer")
  return count
}

/** Packed sint64 values, checked by `countVarints` to be whole. */
function readZigzags(bytes: Uint8Array, integers: "auto" | "bigint" | "number"): (number | bigint)[] {
  const out: (number | bigint)[] = []
  let at = 0
  while (at < bytes.length) {
    let low = 0
    let high = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] as number
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >>> 4
      } else high |= bits << (shift - 32)
      if (byte < 0x80) break
    }
    const sign = -(low & 1)
    const low32 = ((((low >>> 1) | (high << 31)) ^ sign) >>> 0) as number
    const high32 = (high >>> 1) ^ sign
    if (integers !== "bigint") {
      const value = high32 * 0x1_0000_0000 + low32
      if (Number.isSafeInteger(value)) {
        out.push(value)
        continue
      }
      if (integers === "number") throw new RangeError("an INTEGER does not fit a safe number; read it as bigint")
    }
    out.push((BigInt(high32) << 32n) | BigInt(low32))
  }
  return out
}

function textReader(bytes: Uint8Array, mode: "replace" | "strict"): (start: number, end: number) => string {
  const whole = singleByte.decode(bytes)
  if (ascii.test(whole)) return (start, end) => whole.slice(start, end)
  return (start, end) => {
    const slice = whole.slice(start, end)
    if (ascii.test(slice)) return slice
    const part = bytes.subarray(start, end)
    if (mode === "replace") return replacing.decode(part)
    try {
      return strict.decode(part)
    } catch (cause) {
      throw new AgentDBError("invalid_response", "a TEXT value is not valid UTF-8", { cause })
    }
  }
}
