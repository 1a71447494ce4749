import type { MessageInitShape } from "@bufbuild/protobuf"
import type { AgentDB_Wire_StatementSchema as WireStatementSchema } from "../gen/livekit_agentdb_pb.ts"
import { toWireValue } from "../wire/values.ts"
import type { Statement } from "./types.ts"

/**
 * A statement as the wire carries it. Parameters are copied, so the caller may change its buffers.
 * @throws TypeError for anything but text with an array of parameters, RangeError for a bigint outside int64.
 */
export function toWireStatement(
  statement: string | Statement,
  params?: readonly unknown[],
): MessageInitShape<typeof WireStatementSchema> {
  if (typeof statement === "object" && statement !== null) {
    if (params !== undefined) throw new TypeError("a Statement has its own params")
    return toWireStatement(statement.sql, statement.params ?? [])
  }
  if (typeof statement !== "string")
    throw new TypeError(`sql: expected a string or a Statement, got ${typeof statement}`)
  if (params !== undefined && !Array.isArray(params)) {
    throw new TypeError("parameters are positional: pass an array (named ones are positions by SQLite's numbering)")
  }
  return { sql: statement, params: (params ?? []).map((value, i) => toWireValue(value, i + 1)) }
}
