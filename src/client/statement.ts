import { toOneof } from "../wire/values.ts"
import type { WireStatement } from "./frames.ts"
import type { Statement } from "./types.ts"

/**
 * A statement as the wire carries it. Parameters are copied, so the caller may change its buffers.
 * @throws TypeError for anything but text with an array of parameters, RangeError for a bigint outside int64.
 */
export function toWireStatement(statement: string | Statement, params?: readonly unknown[]): WireStatement {
  if (typeof statement === "object" && statement !== null) {
    if (params !== undefined) throw new TypeError("a Statement has its own params")
    return toWireStatement(statement.sql, statement.params ?? [])
  }
  if (typeof statement !== "string")
    throw new TypeError(`sql: expected a string or a Statement, got ${typeof statement}`)
  if (params !== undefined && !Array.isArray(params)) {
    throw new TypeError("parameters are positional: pass an array (named ones are positions by SQLite's numbering)")
  }
  return { sql: statement, params: (params ?? []).map((value, i) => toOneof(value, i + 1)) }
}
