import type {
  AgentDB_Wire_Batch as Batch,
  AgentDB_Wire_ClientMessage as ClientMessage,
  AgentDB_Wire_Statement as Statement,
} from "../gen/livekit_agentdb_pb.ts"
import type { RunContext } from "../sqlite/interrupt.ts"
import type { Limits } from "../wire/limits.ts"

/** What a request asks for. */
export type Work =
  | { readonly case: "exec" | "query"; readonly value: Statement }
  | { readonly case: "batch"; readonly value: Batch }
  | { readonly case: "begin" | "commit" | "rollback" }

/** A request from its arrival to its last frame. */
export interface Request {
  readonly id: number
  readonly work: Work
  /** Size of its frame while it is queued. */
  readonly bytes: number
  /** The running time of its statement, and how it is interrupted. */
  readonly run: RunContext
  /** ColumnBatches it may send once it streams. */
  credit: number
  /** Set by a cancel that found it queued or waiting. */
  canceled: boolean
  /** Leaves the place where it waits or streams; undefined while it is queued. */
  cancel?: () => void
  /** Widens the window of its stream; undefined before it streams. */
  addCredit?: (batches: number) => void
}

/** Credit saturates here: the largest uint32. */
export const maxCredit = 0xffff_ffff

/** The message as work of the data plane; undefined for frames that are none (cancel, credit, ping, hello). */
export function workOf(message: ClientMessage["message"]): Work | undefined {
  switch (message.case) {
    case "exec":
    case "query":
      return { case: message.case, value: message.value }
    case "batch":
      return { case: "batch", value: message.value }
    case "begin":
    case "commit":
    case "rollback":
      return { case: message.case }
    default:
      return undefined
  }
}

export function newRequest(
  id: number,
  work: Work,
  bytes: number,
  limits: Limits,
  isCanceled: (ranMs: number) => boolean,
): Request {
  const run: RunContext = { ranMs: 0, limitMs: limits.statementMs, stopped: undefined, isCanceled }
  return { id, work, bytes, run, credit: limits.initialCredit, canceled: false }
}
