import type {
  AgentDB_Wire_Error as WireError,
  AgentDB_Wire_ExecResult as WireExecResult,
} from "../gen/livekit_agentdb_pb.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { ServerFrame } from "../wire/frames.ts"
import type { ExecResult } from "./types.ts"

export type Answer = ServerFrame["message"]

/** What hears the answers to one request. */
export interface Reply {
  /** True if this was the last. @throws AgentDBError `invalid_response` for what the request can't be answered with. */
  accept(answer: Answer): boolean
  /** The request has ended in an error, the server's or the socket's. */
  fail(error: AgentDBError): void
}

export function toExecResult({ rowsAffected, lastInsertId, tip }: WireExecResult): ExecResult {
  const id = Number(lastInsertId)
  return {
    rowsAffected: Number(rowsAffected),
    lastInsertId: Number.isSafeInteger(id) ? id : lastInsertId,
    tip: Number(tip),
  }
}

export function toError({ code, message }: WireError): AgentDBError {
  // Only the failure of a batch's statement starts like this (proto/README.md, batch).
  const statement = /^statement (\d+): /.exec(message)
  return new AgentDBError(code, message, statement ? { statementIndex: Number(statement[1]) } : {})
}

export function unexpected(answer: Answer, request: string): AgentDBError {
  return new AgentDBError("invalid_response", `${answer.case ?? "an empty message"} as an answer to ${request}`)
}
