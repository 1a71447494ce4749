import type { AgentDB_Wire_Statement as Statement } from "../gen/livekit_agentdb_pb.ts"
import type { Connection } from "../sqlite/connection.ts"
import type { RunContext } from "../sqlite/interrupt.ts"
import { AgentDBError } from "../wire/errors.ts"
import { encodeServerMessage, type Frame } from "../wire/frames.ts"
import type { Limits } from "../wire/limits.ts"
import { type CapturedFrame, type CapturedSource, CursorSource } from "./row-source.ts"
import { type Effects, prepare, runToEnd } from "./statements.ts"

/** What one statement of a batch gave: counters, or rows. */
export type BatchPart = Effects | { readonly columns: Frame; readonly rows: CapturedSource }

/** What a part weighs beside its rows, so that a batch of very many statements is bounded too. */
const partBytes = 128

/**
 * Runs the statements in order inside a transaction that the caller opened.
 * @throws AgentDBError with the failing statement's code; the message starts with `statement N: `.
 */
export function runBatch(
  requestId: number,
  statements: readonly Statement[],
  connection: Connection,
  run: RunContext,
  limits: Limits,
  maxBytes: number,
): BatchPart[] {
  const parts: BatchPart[] = []
  let room = maxBytes
  statements.forEach((statement, index) => {
    try {
      // Statements that are too short to be polled add up.
      if (run.isCanceled?.(run.ranMs)) throw new AgentDBError("canceled", "the batch was cancelled")
      const prepared = prepare(connection, statement, "batch", run, limits)
      room -= partBytes
      if (prepared.columnCount === 0) {
        parts.push(runToEnd(connection, prepared, run))
      } else {
        const cursor = new CursorSource(requestId, prepared, run, limits, () => {})
        try {
          const rows = cursor.capture(Math.max(0, room))
          room -= cursor.columns.byteLength + rows.bytes
          parts.push({ columns: cursor.columns, rows })
        } finally {
          cursor.close()
        }
      }
      if (room < 0) throw new AgentDBError("resource_exhausted", `the batch's answer exceeds ${maxBytes} bytes`)
    } catch (error) {
      const { code, message } = AgentDBError.from(error)
      throw new AgentDBError(code, `statement ${index}: ${message}`, { cause: error, statementIndex: index })
    }
  })
  return parts
}

/** The answer of a batch, in statement order. Every counter carries the commit's tip. */
export function batchFrames(requestId: number, parts: readonly BatchPart[], tip: number): CapturedFrame[] {
  const frames: CapturedFrame[] = []
  const free = (frame: Frame) => frames.push({ frame, rows: 0, costs: false })
  for (const part of parts) {
    if ("rows" in part) {
      free(part.columns)
      frames.push(...part.rows.takeAll())
    } else {
      const { rowsAffected, lastInsertId } = part
      free(
        encodeServerMessage(requestId, { case: "execResult", value: { rowsAffected, lastInsertId, tip: BigInt(tip) } }),
      )
    }
  }
  return frames
}
