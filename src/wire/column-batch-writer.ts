import { AgentDB_Wire_ValueType as ValueType } from "../gen/livekit_agentdb_pb.ts"
import { ByteWriter, varintSize } from "./bytes.ts"
import type { Frame } from "./frames.ts"

/** Room for request id, tags and lengths around a batch, whatever its content. */
const frameOverhead = 64
const columnOverhead = 64
/** Buffers above this are given back after a frame, so that one large row does not stay. */
const keptCapacity = 1024 * 1024

/**
 * Builds ColumnBatch frames value by value: for each row each column in order,
 * then `endRow()`. The oracle is the generated codec, which reads the same bytes.
 */
export class ColumnBatchWriter {
  readonly columns: readonly ColumnWriter[]
  #rows = 0

  constructor(columnCount: number) {
    this.columns = Array.from({ length: columnCount }, () => new ColumnWriter())
  }

  /** Whole rows in the batch. */
  get rows(): number {
    return this.#rows
  }

  /** An upper bound of the frame's size, an unfinished row included. */
  get byteLength(): number {
    let total = frameOverhead
    for (const column of this.columns) total += column.byteLength + columnOverhead
    return total
  }

  endRow(): void {
    this.#rows++
  }

  /** Takes back the values of an unfinished row. */
  dropRow(): void {
    for (const column of this.columns) if (column.length > this.#rows) column.pop()
  }

  /** The batch as a ServerMessage in a buffer of its own; the writer starts anew. */
  takeFrame(requestId: number): Frame {
    const lengths = this.columns.map((column) => column.encodedLength())
    let batchLength = this.#rows > 0 ? 1 + varintSize(this.#rows) : 0
    for (const length of lengths) batchLength += 1 + varintSize(length) + length
    const frameLength = (requestId > 0 ? 1 + varintSize(requestId) : 0) + 1 + varintSize(batchLength) + batchLength
    const out = new ByteWriter(frameLength)
    if (requestId > 0) {
      out.byte(0x08)
      out.varint(requestId)
    }
    out.byte(0x22)
    out.varint(batchLength)
    this.columns.forEach((column, i) => {
      out.byte(0x0a)
      out.varint(lengths[i] as number)
      column.encode(out)
      column.clear()
    })
    if (this.#rows > 0) {
      out.byte(0x10)
      out.varint(this.#rows)
    }
    this.#rows = 0
    return out.view()
  }
}

/** One column of a batch. Tag bytes are those of message Column in the schema. */
export class ColumnWriter {
  readonly #types = new ByteWriter()
  readonly #ints = new ByteWriter()
  readonly #doubles = new ByteWriter()
  readonly #text = new ByteWriter()
  readonly #textEnds = new ByteWriter()
  readonly #blob = new ByteWriter()
  readonly #blobEnds = new ByteWriter()

  get #parts(): ByteWriter[] {
    return [this.#types, this.#ints, this.#doubles, this.#text, this.#textEnds, this.#blob, this.#blobEnds]
  }

  /** Values written. */
  get length(): number {
    return this.#types.length
  }

  get byteLength(): number {
    let total = 0
    for (const part of this.#parts) total += part.length
    return total
  }

  null(): void {
    this.#types.byte(ValueType.NULL)
  }

  /** A safe whole number. */
  int(value: number): void {
    this.#types.byte(ValueType.INT)
    this.#ints.zigzag(value)
  }

  int64(value: bigint): void {
    this.#types.byte(ValueType.INT)
    this.#ints.zigzag64(value)
  }

  double(value: number): void {
    this.#types.byte(ValueType.DOUBLE)
    this.#doubles.double(value)
  }

  /** UTF-8 bytes, copied as they are. */
  text(bytes: Uint8Array): void {
    this.#types.byte(ValueType.TEXT)
    this.#text.append(bytes)
    this.#textEnds.varint(this.#text.length)
  }

  blob(bytes: Uint8Array): void {
    this.#types.byte(ValueType.BLOB)
    this.#blob.append(bytes)
    this.#blobEnds.varint(this.#blob.length)
  }

  /** Takes back the last value. */
  pop(): void {
    const type = this.#types.view().at(-1)
    this.#types.length--
    if (type === ValueType.INT) this.#ints.dropVarint()
    else if (type === ValueType.DOUBLE) this.#doubles.length -= 8
    else if (type === ValueType.TEXT) dropSlice(this.#text, this.#textEnds)
    else if (type === ValueType.BLOB) dropSlice(this.#blob, this.#blobEnds)
  }

  encodedLength(): number {
    let total = 0
    for (const part of this.#parts) if (part.length > 0) total += 1 + varintSize(part.length) + part.length
    return total
  }

  encode(out: ByteWriter): void {
    // Fields 1 to 7, all length-delimited: the packed arrays and the bytes alike.
    this.#parts.forEach((part, i) => {
      if (part.length === 0) return
      out.byte(((i + 1) << 3) | 2)
      out.varint(part.length)
      out.append(part.view())
    })
  }

  clear(): void {
    for (const part of this.#parts) part.clear(keptCapacity)
  }
}

function dropSlice(data: ByteWriter, ends: ByteWriter): void {
  ends.dropVarint()
  const before = new ByteWriter()
  before.append(ends.view())
  before.dropVarint()
  data.length = ends.length === 0 ? 0 : lastVarint(ends.view(), before.length)
}

function lastVarint(bytes: Uint8Array, start: number): number {
  let value = 0
  let scale = 1
  for (let at = start; at < bytes.length; at++) {
    value += ((bytes[at] as number) & 0x7f) * scale
    scale *= 128
  }
  return value
}
