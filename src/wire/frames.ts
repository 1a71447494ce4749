import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import {
  type AgentDB_Wire_ClientMessage as ClientMessage,
  AgentDB_Wire_ClientMessageSchema as ClientMessageSchema,
  type AgentDB_Wire_ServerMessage as ServerMessage,
  AgentDB_Wire_ServerMessageSchema as ServerMessageSchema,
} from "../gen/livekit_agentdb_pb.ts"
import { type ColumnBatch, decodeColumnBatch } from "./column-batch.ts"
import { splitServerFrame } from "./server-frame.ts"

/** One protobuf message in one binary message of the transport. */
export type Frame = Uint8Array<ArrayBuffer>

type ClientBody = NonNullable<MessageInitShape<typeof ClientMessageSchema>["message"]>
type ServerBody = NonNullable<MessageInitShape<typeof ServerMessageSchema>["message"]>

export function encodeClientMessage(requestId: number, message: ClientBody): Frame {
  return toBinary(ClientMessageSchema, create(ClientMessageSchema, { requestId, message })) as Frame
}

/** @throws Error if the bytes are not a ClientMessage. Blobs are views over `frame`. */
export function decodeClientMessage(frame: Uint8Array): ClientMessage {
  // Kept, each unknown field would cost a hundred times its bytes.
  return fromBinary(ClientMessageSchema, frame, { readUnknownFields: false })
}

export function encodeServerMessage(requestId: number, message: ServerBody): Frame {
  return toBinary(ServerMessageSchema, create(ServerMessageSchema, { requestId, message })) as Frame
}

/** A server frame with its ColumnBatch read as columns; every other message in its generated form. */
export type ServerFrame =
  | { requestId: number; message: { case: "columnBatch"; value: ColumnBatch } }
  | { requestId: number; message: Exclude<ServerMessage["message"], { case: "columnBatch" }> }

/** @throws Error if the bytes are not a ServerMessage. A batch keeps views over `frame`. */
export function decodeServerMessage(frame: Frame): ServerFrame {
  const parts = splitServerFrame(frame)
  if (parts)
    return { requestId: parts.requestId, message: { case: "columnBatch", value: decodeColumnBatch(parts.batch) } }
  const { requestId, message } = fromBinary(ServerMessageSchema, frame)
  // It stands in a field of another wire type.
  if (message.case === "columnBatch") throw new Error("a ColumnBatch that is no message")
  return { requestId, message }
}
