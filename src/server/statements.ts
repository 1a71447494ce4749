import {
  AgentDB_Wire_QueryLang as QueryLang,
  type AgentDB_Wire_Statement as Statement,
} from "../gen/livekit_agentdb_pb.ts"
import type { Connection } from "../sqlite/connection.ts"
import type { RunContext } from "../sqlite/interrupt.ts"
import type { PreparedStatement } from "../sqlite/statement.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"

export type Scope = Parameters<Connection["prepare"]>[1]

/** The counters that an ExecResult reports, tip aside. */
export interface Effects {
  readonly rowsAffected: bigint
  readonly lastInsertId: bigint
}

export const noEffects: Effects = { rowsAffected: 0n, lastInsertId: 0n }

/** Prepares and binds; on failure nothing stays open. Sets the running limit that the statement's kind has. */
export function prepare(
  connection: Connection,
  statement: Statement,
  scope: Scope,
  run: RunContext,
  limits: Limits,
): PreparedStatement {
  if (statement.lang !== QueryLang.SQL) {
    throw new AgentDBError("invalid_argument", `query language ${statement.lang} is not known`)
  }
  const prepared = connection.prepare(statement.sql, scope)
  try {
    prepared.bind(statement.params)
  } catch (error) {
    prepared.finalize()
    throw error
  }
  // Each statement of a batch has the whole limit.
  run.limitMs = run.ranMs + (prepared.kind.maintenance ? limits.maintenanceMs : limits.statementMs)
  return prepared
}

/** Steps to the end, discards any rows, finalizes, and tells what changed. */
export function runToEnd(connection: Connection, statement: PreparedStatement, run: RunContext): Effects {
  try {
    while (statement.step(run)) {}
    return effectsOf(connection, statement)
  } finally {
    statement.finalize()
  }
}

/**
 * The engine's counters, where this statement is what they speak of: they keep the
 * last change after DDL, and the last id after a statement that inserted nothing.
 */
function effectsOf(connection: Connection, { kind }: PreparedStatement): Effects {
  if (!kind.changesRows) return noEffects
  const rowsAffected = connection.changes
  return { rowsAffected, lastInsertId: kind.inserts && rowsAffected > 0n ? connection.lastInsertRowid : 0n }
}
