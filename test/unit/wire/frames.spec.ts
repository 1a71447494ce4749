import { fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { expect, test } from "@playwright/test"
import {
  AgentDB_Wire_ClientMessageSchema as ClientMessageSchema,
  AgentDB_Wire_ServerMessageSchema as ServerMessageSchema,
  type AgentDB_Wire_ValueSchema as ValueSchema,
} from "../../../src/gen/livekit_agentdb_pb.ts"
import {
  decodeClientMessage,
  decodeServerMessage,
  encodeClientMessage,
  encodeServerMessage,
} from "../../../src/wire/frames.ts"
import { OracleClientMessage, OracleServerMessage } from "../../fixtures/oracle.ts"

type ClientBody = Parameters<typeof encodeClientMessage>[1]
type ServerBody = Parameters<typeof encodeServerMessage>[1]
type ValueBody = NonNullable<MessageInitShape<typeof ValueSchema>["value"]>

const int64Max = 2n ** 63n - 1n
const int64Min = -(2n ** 63n)
const bytes = new Uint8Array([0, 1, 0x7f, 0x80, 0xff])

const values: ValueBody[] = [
  { case: "nullValue", value: true },
  { case: "nullValue", value: false },
  { case: "intValue", value: 0n },
  { case: "intValue", value: int64Max },
  { case: "intValue", value: int64Min },
  { case: "doubleValue", value: -0 },
  { case: "doubleValue", value: Number.NaN },
  { case: "doubleValue", value: Number.NEGATIVE_INFINITY },
  { case: "doubleValue", value: 5e-324 },
  { case: "textValue", value: "" },
  { case: "textValue", value: "a\u0000b😀" },
  { case: "blobValue", value: new Uint8Array(0) },
  { case: "blobValue", value: bytes },
]

const statement = { sql: "SELECT ?", params: values.map((value) => ({ value })), lang: 0 }

const clientBodies: ClientBody[] = [
  { case: "hello", value: { token: "t", databaseId: "DB_x" } },
  { case: "hello", value: {} },
  { case: "exec", value: statement },
  { case: "query", value: statement },
  { case: "query", value: { sql: "", params: [{}] } },
  { case: "batch", value: { statements: [statement, { sql: "SELECT 1" }] } },
  { case: "begin", value: {} },
  { case: "commit", value: {} },
  { case: "rollback", value: {} },
  { case: "cancel", value: {} },
  { case: "credit", value: { batches: 0xffff_ffff } },
  { case: "credit", value: { batches: 0 } },
  { case: "ping", value: { timestampMs: int64Max } },
]

const column = {
  types: new Uint8Array([1, 2, 3, 4, 0, 1]),
  ints: [int64Min, int64Max],
  doubles: [Number.POSITIVE_INFINITY],
  textData: new TextEncoder().encode("é"),
  textEnds: [2],
  blobData: bytes,
  blobEnds: [5],
}

const serverBodies: ServerBody[] = [
  { case: "helloOk", value: { tip: 1n, pingIntervalMs: 5000, pingTimeoutMs: 150_000 } },
  { case: "columns", value: { names: [] } },
  { case: "columns", value: { names: ["a", "", "a"] } },
  { case: "columnBatch", value: { columns: [column], rows: 6 } },
  { case: "columnBatch", value: { columns: [], rows: 0 } },
  { case: "execResult", value: { rowsAffected: 1n, lastInsertId: int64Min, tip: 3n } },
  { case: "done", value: { tip: 0n, totalRows: 2n ** 64n - 1n } },
  { case: "error", value: { code: "not_found", message: "no such database" } },
  { case: "pong", value: { lastPingTimestampMs: -1n, timestampMs: 1_800_000_000_000n } },
]

const requestIds = [0, 1, 127, 128, 0xffff_ffff]
const hex = (frame: Uint8Array) => Buffer.from(frame).toString("hex")

test("each kind of client frame is the same bytes in both codecs, both ways", () => {
  for (const requestId of requestIds) {
    for (const body of clientBodies) {
      const ours = encodeClientMessage(requestId, body)
      const theirs = OracleClientMessage.fromBinary(ours)
      expect(theirs.message.case).toBe(body.case)
      expect(hex(theirs.toBinary()), body.case).toBe(hex(ours))
      expect(hex(new OracleClientMessage({ requestId, message: body }).toBinary()), body.case).toBe(hex(ours))
      expect(hex(toBinary(ClientMessageSchema, decodeClientMessage(ours))), body.case).toBe(hex(ours))
    }
  }
  expect(new Set(clientBodies.map((body) => body.case)).size).toBe(ClientMessageSchema.oneofs[0]?.fields.length)
})

test("each kind of server frame is the same bytes in both codecs, both ways", () => {
  for (const requestId of requestIds) {
    for (const body of serverBodies) {
      const ours = encodeServerMessage(requestId, body)
      const theirs = OracleServerMessage.fromBinary(ours)
      expect(theirs.message.case).toBe(body.case)
      expect(hex(theirs.toBinary()), body.case).toBe(hex(ours))
      expect(hex(new OracleServerMessage({ requestId, message: body }).toBinary()), body.case).toBe(hex(ours))
      expect(hex(toBinary(ServerMessageSchema, fromBinary(ServerMessageSchema, ours))), body.case).toBe(hex(ours))
      expect(decodeServerMessage(ours)).toMatchObject({ requestId, message: { case: body.case } })
    }
  }
  expect(new Set(serverBodies.map((body) => body.case)).size).toBe(ServerMessageSchema.oneofs[0]?.fields.length)
})

test("unknown fields are skipped, and a message of no known kind is told apart from a malformed one", () => {
  // Field 15, a varint, before and after a ping.
  const ping = encodeClientMessage(1, { case: "ping", value: { timestampMs: 7n } })
  const message = decodeClientMessage(new Uint8Array([0x78, 5, ...ping, 0x78, 6]))
  expect(message.message).toMatchObject({ case: "ping", value: { timestampMs: 7n } })
  // Nor kept: 16 MiB of two-byte fields would be a gigabyte of objects.
  expect(message.$unknown).toBeUndefined()
  expect(decodeClientMessage(new Uint8Array([0x08, 1, 0x78, 5])).message.case).toBeUndefined()
  expect(() => decodeClientMessage(new Uint8Array([0xff, 0xff]))).toThrow()
  const batch = encodeServerMessage(1, { case: "columnBatch", value: { columns: [column], rows: 6 } })
  expect(decodeServerMessage(new Uint8Array([0x78, 5, ...batch])).message.case).toBe("columnBatch")
})
