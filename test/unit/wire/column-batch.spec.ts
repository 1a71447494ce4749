import { expect, test } from "@playwright/test"
import fc from "fast-check"
import { ColumnBatchWriter } from "../../../src/wire/column-batch-writer.ts"
import { decodeServerMessage } from "../../../src/wire/frames.ts"
import { OracleServerMessage } from "../../fixtures/oracle.ts"
import { appendRow, type Cell, rowsOf } from "../../fixtures/wire-peer.ts"

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const cell: fc.Arbitrary<Cell> = fc.oneof(
  fc.constant(null),
  int64,
  fc.integer({ min: -70_000, max: 70_000 }).map(BigInt),
  fc.double({ noNaN: true }),
  fc.string({ unit: "binary" }),
  fc.uint8Array({ maxLength: 40 }),
)
const rounds = Number(process.env["AGENTDB_CODEC_BATCHES"] ?? 300)
const table = fc
  .integer({ min: 0, max: 4 })
  .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 30 }))

function write(rows: readonly Cell[][], requestId: number): Uint8Array<ArrayBuffer> {
  const writer = new ColumnBatchWriter(rows[0]?.length ?? 0)
  for (const row of rows) {
    appendRow(writer, row)
    writer.endRow()
  }
  return writer.takeFrame(requestId)
}

function decoded(frame: Uint8Array) {
  const { message } = OracleServerMessage.fromBinary(frame)
  if (message.case !== "columnBatch") throw new Error(`a ${message.case} came`)
  return message.value
}

/** Lone surrogates have no UTF-8 form: they arrive as U+FFFD. */
const wellFormed = (value: Cell): Cell =>
  typeof value === "string"
    ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(value))
    : value

test("the hot writer makes what the independent codec reads, and the same bytes as it", () => {
  fc.assert(
    fc.property(table, fc.integer({ min: 0, max: 0xffff_ffff }), (rows, requestId) => {
      const frame = write(rows, requestId)
      const message = OracleServerMessage.fromBinary(frame)
      expect(message.requestId).toBe(requestId)
      expect(rowsOf(decoded(frame))).toEqual(rows.map((row) => row.map(wellFormed)))
      expect(Buffer.from(message.toBinary())).toEqual(Buffer.from(frame))
    }),
    { numRuns: rounds },
  )
})

test("the hot reader reads what the independent codec writes", () => {
  fc.assert(
    fc.property(table, (rows) => {
      const frame = new Uint8Array(OracleServerMessage.fromBinary(write(rows, 9)).toBinary())
      const { requestId, message } = decodeServerMessage(frame)
      if (message.case !== "columnBatch") throw new Error(`a ${message.case} came`)
      const columns = message.value.columns.map((column) => column.values({ integers: "bigint" }))
      expect(requestId).toBe(9)
      expect(message.value.rows).toBe(rows.length)
      const read = rows.map((_, row) => columns.map((column) => column[row]))
      expect(read).toEqual(rows.map((row) => row.map(wellFormed)))
    }),
    { numRuns: rounds },
  )
})

test("dropRow takes back the values of an unfinished row", () => {
  fc.assert(
    fc.property(table, (rows) => {
      const [partial, ...whole] = rows
      if (!partial) return
      const writer = new ColumnBatchWriter(partial.length)
      for (const row of whole) {
        appendRow(writer, row)
        writer.endRow()
      }
      appendRow(writer, partial.slice(0, Math.ceil(partial.length / 2)))
      writer.dropRow()
      expect(Buffer.from(writer.takeFrame(1))).toEqual(
        Buffer.from(whole.length > 0 ? write(whole, 1) : new ColumnBatchWriter(partial.length).takeFrame(1)),
      )
    }),
  )
})

test("C07 one column of every storage class keeps step", () => {
  const values: Cell[] = [
    1n,
    1e308,
    "a😀b",
    new Uint8Array([0, 255]),
    null,
    9007199254740993n,
    "",
    new Uint8Array(0),
    -1.5,
  ]
  const { columns } = decoded(
    write(
      values.map((value) => [value]),
      1,
    ),
  )
  const column = columns[0]
  if (!column) throw new Error("no column")
  expect([...column.types]).toEqual([1, 2, 3, 4, 0, 1, 3, 4, 2])
  expect(column.ints).toEqual([1n, 9007199254740993n])
  expect(column.doubles).toEqual([1e308, -1.5])
  expect(Buffer.from(column.textData).toString("hex")).toBe("61f09f988062")
  expect(column.textEnds).toEqual([6, 6])
  expect(Buffer.from(column.blobData).toString("hex")).toBe("00ff")
  expect(column.blobEnds).toEqual([2, 2])
})

test("integers leave as numbers where they are safe, else exactly", () => {
  const values = [0n, -1n, 2n ** 53n - 1n, -(2n ** 53n - 1n), 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)]
  const frame = write(
    values.map((value) => [value]),
    1,
  )
  const { message } = decodeServerMessage(frame)
  if (message.case !== "columnBatch") throw new Error("no batch")
  const [column] = message.value.columns
  expect(column?.values()).toEqual([0, -1, 2 ** 53 - 1, -(2 ** 53 - 1), 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)])
  expect([...(column?.ints() ?? [])]).toEqual(values)
  expect(() => column?.values({ integers: "number" })).toThrow(RangeError)
})

test("text that is not UTF-8 is replaced, or refused when asked to be strict", () => {
  const writer = new ColumnBatchWriter(1)
  writer.columns[0]?.text(new Uint8Array([0x61, 0xff]))
  writer.endRow()
  const { message } = decodeServerMessage(writer.takeFrame(1))
  if (message.case !== "columnBatch") throw new Error("no batch")
  const [column] = message.value.columns
  expect(column?.values()).toEqual(["a\ufffd"])
  expect(() => column?.values({ text: "strict" })).toThrow("not valid UTF-8")
})

test("a batch that contradicts itself is refused, and no bytes at all make the reader hang or read outside", () => {
  fc.assert(
    fc.property(
      table,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 }),
      (rows, edits) => {
        const frame = write(rows, 1)
        for (const [at, byte] of edits) frame[at % frame.length] = byte
        try {
          const { message } = decodeServerMessage(frame)
          if (message.case === "columnBatch") for (const column of message.value.columns) column.values()
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
        }
      },
    ),
    { numRuns: 2000 },
  )
})
