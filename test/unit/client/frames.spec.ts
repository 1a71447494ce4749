import { expect, test } from "@playwright/test"
import fc from "fast-check"
import { type Answer, type Body, decodeAnswer, encodeRequest } from "../../../src/client/frames.ts"
import { decodeServerMessage, encodeClientMessage, encodeServerMessage, type Frame } from "../../../src/wire/frames.ts"
import { OracleClientMessage, OracleServerMessage } from "../../fixtures/oracle.ts"

type GenericBody = Parameters<typeof encodeClientMessage>[1]
type GenericAnswer = Parameters<typeof encodeServerMessage>[1]

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const count = fc.maxSafeNat().map(BigInt)
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const text = fc.string({ unit: "binary" })
const bytes = fc.uint8Array({ maxLength: 40 }).map((value) => new Uint8Array(value))

const value = fc.oneof(
  fc.constant({ case: "nullValue" as const, value: true }),
  int64.map((value) => ({ case: "intValue" as const, value })),
  fc.constantFrom(0n, 1n, -1n).map((value) => ({ case: "intValue" as const, value })),
  fc.double({ noNaN: true }).map((value) => ({ case: "doubleValue" as const, value })),
  text.map((value) => ({ case: "textValue" as const, value })),
  bytes.map((value) => ({ case: "blobValue" as const, value })),
)
const statement = fc.record({ sql: text, params: fc.array(value, { maxLength: 5 }) })

const body: fc.Arbitrary<Body> = fc.oneof(
  fc.record({ case: fc.constant("hello" as const), token: text, databaseId: text }),
  fc.record({ case: fc.constantFrom("exec" as const, "query" as const), statement }),
  fc.record({ case: fc.constant("batch" as const), statements: fc.array(statement, { maxLength: 4 }) }),
  fc.record({ case: fc.constantFrom("begin" as const, "commit" as const, "rollback" as const, "cancel" as const) }),
  fc.record({ case: fc.constant("credit" as const), batches: uint32 }),
  fc.record({ case: fc.constant("ping" as const), timestampMs: fc.maxSafeNat() }),
)

type WireStatement = { sql: string; params: readonly { case: string; value: unknown }[] }
const generic = ({ sql, params }: WireStatement) => ({ sql, params: params.map((value) => ({ value })) })

/** The same message as the generated code has it. */
function toGeneric(body: Body): GenericBody {
  switch (body.case) {
    case "hello":
      return { case: "hello", value: { token: body.token, databaseId: body.databaseId } }
    case "exec":
    case "query":
      return { case: body.case, value: generic(body.statement) } as GenericBody
    case "batch":
      return { case: "batch", value: { statements: body.statements.map(generic) } } as GenericBody
    case "credit":
      return { case: "credit", value: { batches: body.batches } }
    case "ping":
      return { case: "ping", value: { timestampMs: BigInt(body.timestampMs) } }
    default:
      return { case: body.case, value: {} }
  }
}

test("requests are byte for byte what the generic codec makes, and what the oracle reads", () => {
  fc.assert(
    fc.property(uint32, body, (requestId, body) => {
      const mine = encodeRequest(requestId, body)
      const theirs = encodeClientMessage(requestId, toGeneric(body))
      if (Buffer.compare(mine, theirs) !== 0)
        throw new Error(`${Buffer.from(mine).toString("hex")} where it makes ${Buffer.from(theirs).toString("hex")}`)
      if (mine.byteLength !== mine.buffer.byteLength) throw new Error("not in a buffer of its own")
      const again = OracleClientMessage.fromBinary(mine).toBinary()
      if (Buffer.compare(mine, again) !== 0) throw new Error("the oracle makes other bytes of it")
    }),
    { numRuns: 1_000 },
  )
})

const answer: fc.Arbitrary<GenericAnswer> = fc.oneof(
  fc
    .record({ tip: count, pingIntervalMs: uint32, pingTimeoutMs: uint32 })
    .map((value) => ({ case: "helloOk" as const, value })),
  fc.array(text).map((names) => ({ case: "columns" as const, value: { names } })),
  fc
    .record({ rowsAffected: count, lastInsertId: int64, tip: count })
    .map((value) => ({ case: "execResult" as const, value })),
  fc.record({ tip: count, totalRows: count }).map((value) => ({ case: "done" as const, value })),
  fc.record({ code: text, message: text }).map((value) => ({ case: "error" as const, value })),
  fc.record({ lastPingTimestampMs: int64, timestampMs: int64 }).map((value) => ({ case: "pong" as const, value })),
  fc.constant({ case: undefined }),
)

/** What the generic codec reads, in the form of this one. */
function fromGeneric(frame: Frame): { requestId: number; answer: Answer } {
  const { requestId, message } = decodeServerMessage(frame)
  switch (message.case) {
    case "helloOk": {
      const { tip, pingIntervalMs, pingTimeoutMs } = message.value
      return { requestId, answer: { case: "helloOk", tip: Number(tip), pingIntervalMs, pingTimeoutMs } }
    }
    case "columns":
      return { requestId, answer: { case: "columns", names: message.value.names } }
    case "columnBatch":
      return { requestId, answer: { case: "columnBatch", batch: message.value } }
    case "execResult": {
      const { rowsAffected, lastInsertId, tip } = message.value
      const answer = { case: "execResult" as const, rowsAffected: Number(rowsAffected), lastInsertId, tip: Number(tip) }
      return { requestId, answer }
    }
    case "done": {
      const { tip, totalRows } = message.value
      return { requestId, answer: { case: "done", tip: Number(tip), totalRows: Number(totalRows) } }
    }
    case "error":
      return { requestId, answer: { case: "error", code: message.value.code, message: message.value.message } }
    case "pong":
      return { requestId, answer: { case: "pong" } }
    default:
      return { requestId, answer: { case: undefined } }
  }
}

const show = (value: unknown) =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part))

/** Fields that no version of the schema has, of every wire type. */
const unknown = fc.constantFrom(
  new Uint8Array([]),
  new Uint8Array([0xf8, 0x07, 0x05]),
  new Uint8Array([0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8]),
  new Uint8Array([0xfa, 0x07, 0x02, 0x61, 0x62]),
  new Uint8Array([0xfd, 0x07, 1, 2, 3, 4]),
)

test("answers are read as the generic codec reads them, unknown fields around them too", () => {
  fc.assert(
    fc.property(uint32, answer, unknown, unknown, (requestId, answer, before, after) => {
      const known = encodeServerMessage(requestId, answer)
      const frame = new Uint8Array(Buffer.concat([before, known, after]))
      const mine = show(decodeAnswer(frame))
      const theirs = show(fromGeneric(frame))
      if (mine !== theirs) throw new Error(`${mine} where it reads ${theirs}`)
    }),
    { numRuns: 1_000 },
  )
})

test("the last member of the oneof counts, and a member of a later schema is undefined", () => {
  const pong = encodeServerMessage(0, { case: "pong", value: {} })
  const done = encodeServerMessage(7, { case: "done", value: { tip: 3n } })
  const both = new Uint8Array([...done, ...pong])
  expect(decodeAnswer(both)).toEqual({ requestId: 7, answer: { case: "pong" } })
  expect(decodeAnswer(new Uint8Array([0x08, 7, 0x4a, 0]))).toEqual({ requestId: 7, answer: { case: undefined } })
})

test("a batch beside other fields is read, and its frame may be the oracle's", () => {
  const frame = new OracleServerMessage({
    requestId: 9,
    message: { case: "columnBatch", value: { rows: 2, columns: [{ types: new Uint8Array([1, 0]), ints: [-5n] }] } },
  } as never).toBinary()
  const { requestId, answer } = decodeAnswer(new Uint8Array(frame))
  expect(requestId).toBe(9)
  if (answer.case !== "columnBatch") throw new Error(String(answer.case))
  expect(answer.batch.columns[0]?.values()).toEqual([-5, null])
})

test("bytes that are no message throw", () => {
  for (const bad of [
    [0x08],
    [0x2a, 5, 1],
    [0x00, 0x01],
    [0x0b],
    [0x08, ...new Array(11).fill(0x80)],
    [0x2a, 2, 0x08, 0x80],
  ]) {
    expect(() => decodeAnswer(new Uint8Array(bad)), String(bad)).toThrow()
  }
})
