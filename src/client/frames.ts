import { joinPieces } from "../wire/bytes.ts"
import { type ColumnBatch, decodeColumnBatch } from "../wire/column-batch.ts"
import type { Frame } from "../wire/frames.ts"
import { splitServerFrame } from "../wire/server-frame.ts"
import type { toOneof } from "../wire/values.ts"
import { MessageReader, MessageWriter } from "./fields.ts"

export interface WireStatement {
  sql: string
  params: readonly ReturnType<typeof toOneof>[]
}

/** What a client says, by the names of ClientMessage's oneof. */
export type Body =
  | { case: "hello"; token: string; databaseId: string }
  | { case: "exec" | "query"; statement: WireStatement }
  | { case: "batch"; statements: readonly WireStatement[] }
  | { case: "begin" | "commit" | "rollback" | "cancel" }
  | { case: "credit"; batches: number }
  | { case: "ping"; timestampMs: number }

/** What a server says, by the names of ServerMessage's oneof; undefined for what this client does not know. */
export type Answer =
  | { case: "helloOk"; tip: number; pingIntervalMs: number; pingTimeoutMs: number }
  | { case: "columns"; names: string[] }
  | { case: "columnBatch"; batch: ColumnBatch }
  | { case: "execResult"; rowsAffected: number; lastInsertId: bigint; tip: number }
  | { case: "done"; tip: number; totalRows: number }
  | { case: "error"; code: string; message: string }
  | { case: "pong" }
  | { case: undefined }

/** Field numbers in ClientMessage. */
const clientFields: Record<Body["case"], number> = {
  hello: 2,
  exec: 3,
  query: 4,
  batch: 5,
  begin: 6,
  commit: 7,
  rollback: 8,
  cancel: 9,
  credit: 10,
  ping: 11,
}

export function encodeRequest(requestId: number, body: Body): Frame {
  return new MessageWriter().int(1, requestId).bytes(clientFields[body.case], encodeBody(body)).finish()
}

function encodeBody(body: Body): Frame {
  const out = new MessageWriter()
  switch (body.case) {
    case "hello":
      out.text(1, body.token).text(2, body.databaseId)
      break
    case "exec":
    case "query":
      return encodeStatement(body.statement)
    case "batch":
      for (const statement of body.statements) out.bytes(1, encodeStatement(statement))
      break
    case "credit":
      out.int(1, body.batches)
      break
    case "ping":
      out.int(1, body.timestampMs)
  }
  return out.finish()
}

function encodeStatement({ sql, params }: WireStatement): Frame {
  const out = new MessageWriter().text(1, sql)
  for (const param of params) out.bytes(2, encodeValue(param))
  return out.finish()
}

function encodeValue(param: WireStatement["params"][number]): Frame {
  const out = new MessageWriter()
  switch (param.case) {
    case "nullValue":
      return out.int(1, 1).finish()
    case "intValue":
      return out.int(2, param.value, true).finish()
    case "doubleValue":
      return out.double(3, param.value).finish()
    case "textValue":
      return out.text(4, param.value, true).finish()
    case "blobValue":
      return out.bytes(5, param.value).finish()
  }
}

/** @throws Error if the bytes are not a ServerMessage. A batch keeps views over `frame`. */
export function decodeAnswer(frame: Frame): { requestId: number; answer: Answer } {
  const split = splitServerFrame(frame)
  if (split) {
    return { requestId: split.requestId, answer: { case: "columnBatch", batch: decodeColumnBatch(split.batch) } }
  }
  const message = new MessageReader(frame)
  // The last member of a oneof counts, and pieces of it merge.
  const members = message.order.filter((number) => number >= 2 && number <= 8)
  const field = members.at(-1) ?? 0
  const others = members.findLastIndex((number) => number !== field)
  const pieces = message.parts(field).slice(others + 1 - members.length)
  const answer: Answer = pieces.length > 0 ? decodePart(field, joinPieces(pieces)) : { case: undefined }
  return { requestId: message.uint32(1), answer }
}

function decodePart(field: number, bytes: Frame): Answer {
  if (field === 4) return { case: "columnBatch", batch: decodeColumnBatch(bytes) }
  const part = new MessageReader(bytes)
  switch (field) {
    case 2:
      return { case: "helloOk", tip: part.number(1), pingIntervalMs: part.uint32(2), pingTimeoutMs: part.uint32(3) }
    case 3:
      return { case: "columns", names: part.texts(1) }
    case 5:
      return { case: "execResult", rowsAffected: part.number(1), lastInsertId: part.int(2), tip: part.number(3) }
    case 6:
      return { case: "done", tip: part.number(1), totalRows: Number(BigInt.asUintN(64, part.int(2))) }
    case 7:
      return { case: "error", code: part.text(1), message: part.text(2) }
    default:
      return { case: "pong" }
  }
}
