import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf"
import { expect, test } from "@playwright/test"
import * as oracle from "../../../node_modules/@livekit/protocol/src/gen/livekit_agentdb_pb.js"
import { type Body, decodeAnswer, encodeRequest } from "../../../src/client/frames.ts"
import * as schema from "../../../src/gen/livekit_agentdb_pb.ts"
import type { ColumnBatch } from "../../../src/wire/column-batch.ts"
import { ColumnBatchWriter } from "../../../src/wire/column-batch-writer.ts"
import { decodeClientMessage, decodeServerMessage } from "../../../src/wire/frames.ts"
import { goldenInputs } from "../../fixtures/golden-inputs.ts"
import { legalVariant } from "../../fixtures/legal-variants.ts"
import { OracleServerMessage } from "../../fixtures/oracle.ts"
import { Random } from "../../fixtures/random.ts"
import { appendRow, rowsOf } from "../../fixtures/wire-peer.ts"

/** Name and bytes of each: what the independent codec makes of the inputs. `npm run gen:vectors` writes it. */
const file = new URL("../../fixtures/golden-frames.json", import.meta.url)

interface OracleClass {
  new (value: object): { toBinary(options?: object): Uint8Array }
  fromBinary(bytes: Uint8Array, options?: object): InstanceType<OracleClass>
}
const nameOf = (type: string) => type.replaceAll(".", "_")
const oracleOf = (type: string) => (oracle as unknown as Record<string, OracleClass>)[nameOf(type)] as OracleClass
const schemaOf = (type: string) =>
  (schema as unknown as Record<string, DescMessage>)[`${nameOf(type)}Schema`] as DescMessage

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
const made = () =>
  Object.fromEntries(goldenInputs.map(({ name, type, value }) => [name, hex(new (oracleOf(type))(value).toBinary())]))

if (process.env["AGENTDB_WRITE_VECTORS"]) writeFileSync(file, `${JSON.stringify(made(), null, 2)}\n`)
const golden = (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}) as Record<string, string>
const vectors = goldenInputs.map((input) => ({
  ...input,
  bytes: new Uint8Array(Buffer.from(golden[input.name] ?? "", "hex")),
}))
const ofType = (type: string) => vectors.filter((vector) => vector.type === `AgentDB.Wire.${type}`)

test("the golden frames are what the independent codec makes, and cover all 32 messages and every kind", () => {
  expect(golden).toEqual(made())
  const names = goldenInputs.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  const types = Object.entries(oracle).flatMap(([name, value]) => (typeof value === "function" ? [name] : []))
  expect(new Set(goldenInputs.map(({ type }) => nameOf(type)))).toEqual(new Set(types))
  expect(types).toHaveLength(32)
  for (const [type, count] of [
    ["ClientMessage", 10],
    ["ServerMessage", 7],
  ] as const) {
    const kinds = ofType(type).map(({ value }) => (value as { message: { case: string } }).message.case)
    expect(new Set(kinds).size).toBe(count)
  }
  console.log(`${names.length} golden frames`)
})

test("the generated codec makes and reads exactly the golden bytes", () => {
  for (const { name, type, value, bytes } of vectors) {
    const desc = schemaOf(type)
    expect(hex(toBinary(desc, create(desc, value as never))), name).toBe(hex(bytes))
    expect(hex(toBinary(desc, fromBinary(desc, bytes))), name).toBe(hex(bytes))
  }
})

test("the service reads every golden request, the hot codec makes and reads every golden batch", () => {
  for (const { name, bytes } of ofType("ClientMessage")) {
    expect(hex(toBinary(schema.AgentDB_Wire_ClientMessageSchema, decodeClientMessage(bytes))), name).toBe(hex(bytes))
  }
  for (const { name, bytes } of ofType("ServerMessage")) {
    const { requestId, message } = OracleServerMessage.fromBinary(bytes)
    const read = decodeServerMessage(bytes)
    expect(read, name).toMatchObject({ requestId, message: { case: message.case } })
    if (message.case !== "columnBatch" || read.message.case !== "columnBatch") continue
    const rows = rowsOf(message.value)
    expect(cells(read.message.value), name).toEqual(rows)
    // A NaN is never in a result: SQLite has none.
    const writer = new ColumnBatchWriter(message.value.columns.length)
    for (const row of rows) {
      appendRow(writer, row)
      writer.endRow()
    }
    expect(hex(writer.takeFrame(requestId)), name).toBe(hex(bytes))
  }
})

test("the client's small codec makes every golden request and reads every golden answer", () => {
  for (const { name, value, bytes } of ofType("ClientMessage")) {
    const body = requestOf(value as Message)
    if (body) expect(hex(encodeRequest((value as Message).requestId, body)), name).toBe(hex(bytes))
  }
  for (const { name, bytes } of ofType("ServerMessage")) expect(shown(decodeAnswer(bytes)), name).toBe(read(bytes))
})

const rounds = Number(process.env["AGENTDB_CODEC_ROUNDS"] ?? 5)
const seed = Number(process.env["AGENTDB_SEED"] ?? Math.floor(Math.random() * 2 ** 31))

test("every other legal form of a golden frame is read as the same", () => {
  const random = new Random(seed)
  for (let round = 0; round < rounds; round++) {
    for (const { name, type, bytes } of vectors) {
      const desc = schemaOf(type)
      const variant = legalVariant(desc, bytes, random)
      // An expect for each would take minutes.
      const same = (reader: string, got: string, wanted: string) => {
        if (got !== wanted)
          throw new Error(`${reader} reads ${got}, not ${wanted}: ${name}, ${hex(variant)}, seed ${seed}`)
      }
      const generated = fromBinary(desc, variant, { readUnknownFields: false })
      same("the generated codec", hex(toBinary(desc, generated)), hex(bytes))
      // The independent codec drops a BOM at the start of a text.
      if (!hex(bytes).includes("efbbbf")) {
        const theirs = oracleOf(type).fromBinary(variant, { readUnknownFields: false })
        same("the independent codec", hex(theirs.toBinary()), hex(bytes))
      }
      if (type === "AgentDB.Wire.ClientMessage") {
        const again = toBinary(schema.AgentDB_Wire_ClientMessageSchema, decodeClientMessage(variant))
        same("the service", hex(again), hex(bytes))
      } else if (type === "AgentDB.Wire.ServerMessage") {
        same("the client", shown(decodeAnswer(variant)), read(bytes))
        const { message } = decodeServerMessage(variant)
        if (message.case === "columnBatch") same("the hot codec", show(cells(message.value)), cellsOf(bytes))
      }
    }
  }
})

test("a batch whose numbers come one by one costs no more than its bytes", () => {
  const count = 300_000
  const out = Buffer.alloc(count * 2)
  for (let i = 0; i < count; i++) out.set([0x10, 0x02], i * 2)
  const types = new Uint8Array(count).fill(1)
  const column = Buffer.concat([delimited(0x0a, types), out])
  const batch = Buffer.concat([delimited(0x0a, column), Buffer.from([0x10]), varint(count)])
  const { message } = decodeServerMessage(new Uint8Array(delimited(0x22, batch)))
  if (message.case !== "columnBatch") throw new Error("no batch")
  expect(message.value.columns[0]?.ints().length).toBe(count)
})

function cellsOf(bytes: Uint8Array): string {
  const { message } = OracleServerMessage.fromBinary(bytes)
  return show(message.case === "columnBatch" && rowsOf(message.value))
}

function cells({ rows, columns }: ColumnBatch) {
  const values = columns.map((column) => column.values({ integers: "bigint" }))
  return Array.from({ length: rows }, (_, row) => values.map((column) => column[row]))
}

type Message = { requestId: number; message: { case: string; value: Record<string, unknown> } }
type Stated = { sql?: string; params?: { value: { case: string; value: unknown } }[] }

/** The request in the form of the client's codec; undefined where a client never says it. */
function requestOf({ message }: Message): Body | undefined {
  const given = message.value
  const statementOf = ({ sql = "", params = [] }: Stated) => ({ sql, params: params.map(({ value }) => value) })
  switch (message.case) {
    case "hello":
      return { case: "hello", token: String(given["token"] ?? ""), databaseId: String(given["databaseId"] ?? "") }
    case "credit":
      return { case: "credit", batches: Number(given["batches"] ?? 0) }
    case "ping":
      return { case: "ping", timestampMs: Number(given["timestampMs"]) }
    case "exec":
    case "query": {
      const statement = statementOf(given as Stated)
      // It sends NULL as true only.
      const params = statement.params.filter((value) => value.value !== false)
      if (params.length < statement.params.length) return undefined
      return { case: message.case, statement } as Body
    }
    case "batch":
      return { case: "batch", statements: ((given["statements"] ?? []) as Stated[]).map(statementOf) } as Body
    default:
      return { case: message.case } as Body
  }
}

/** A frame as the independent codec reads it, in the form of the client's codec. */
function read(bytes: Uint8Array): string {
  const { requestId, message } = OracleServerMessage.fromBinary(bytes)
  const number = (value: unknown) => Number(value as bigint)
  const value = message.value as unknown as Record<string, unknown>
  switch (message.case) {
    case "columnBatch":
      return show({ requestId, cells: rowsOf(message.value) })
    case "columns":
      return show({ requestId, case: "columns", names: value["names"] })
    case "error":
      return show({ requestId, case: "error", code: value["code"], message: value["message"] })
    case "helloOk": {
      const { tip, pingIntervalMs, pingTimeoutMs } = value
      return show({ requestId, case: "helloOk", tip: number(tip), pingIntervalMs, pingTimeoutMs })
    }
    case "execResult": {
      const { rowsAffected, lastInsertId, tip } = value
      return show({ requestId, case: "execResult", rowsAffected: number(rowsAffected), lastInsertId, tip: number(tip) })
    }
    case "done":
      return show({ requestId, case: "done", tip: number(value["tip"]), totalRows: number(value["totalRows"]) })
    default:
      return show({ requestId, case: message.case })
  }
}

function shown({ requestId, answer }: ReturnType<typeof decodeAnswer>): string {
  return answer.case === "columnBatch"
    ? show({ requestId, cells: cells(answer.batch) })
    : show({ requestId, ...answer })
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return `${part}n`
    if (part instanceof Uint8Array) return hex(part)
    return typeof part === "number" && (Object.is(part, -0) || !Number.isFinite(part)) ? `number ${part}` : part
  })
}

function varint(value: number): Buffer {
  const out: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) out.push((rest % 128) | 0x80)
  return Buffer.from([...out, rest])
}

const delimited = (tag: number, bytes: Uint8Array) => Buffer.concat([Buffer.from([tag]), varint(bytes.length), bytes])
