import { AgentDBError } from "../wire/errors.ts"
import type { Answer } from "./frames.ts"
import type { ExecResult } from "./types.ts"

/** What hears the answers to one request. */
export interface Reply {
  /** True if this was the last. @throws AgentDBError `invalid_response` for what the request can't be answered with. */
  accept(answer: Answer): boolean
  /** The request has ended in an error, the server's or the socket's. */
  fail(error: AgentDBError): void
}

export function toExecResult({ rowsAffected, lastInsertId, tip }: Answer & { case: "execResult" }): ExecResult {
  const id = Number(lastInsertId)
  return { rowsAffected, lastInsertId: Number.isSafeInteger(id) ? id : lastInsertId, tip }
}

export function toError({ code, message }: Answer & { case: "error" }): AgentDBError {
  return new AgentDBError(code, message)
}

export function unexpected(answer: Answer, request: string): AgentDBError {
  return new AgentDBError("invalid_response", `${answer.case ?? "an empty message"} as an answer to ${request}`)
}
