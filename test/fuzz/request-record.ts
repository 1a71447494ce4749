import type { Cell } from "../fixtures/wire-peer.ts"
import type { Op } from "./ops.ts"

export type Work =
  | { readonly kind: "exec" | "query"; readonly op: Op }
  | { readonly kind: "batch"; readonly ops: readonly Op[] }
  | { readonly kind: "begin" | "commit" | "rollback" }

/** One part of an answer: counters, or rows with their columns. */
export type Part =
  | { readonly rowsAffected: bigint; readonly lastInsertId: bigint; readonly tip: bigint }
  | { readonly columns: string[]; readonly rows: Cell[][] }

/** A request as its client lived it. */
export interface RequestRecord {
  readonly id: number
  readonly work: Work
  /** Clock of the service when it was sent, and when it ended. */
  readonly sentAt: number
  endedAt: number | undefined
  /** The newest tip that any client had been told of when it was sent: it must not see less. */
  readonly floor: number
  /** Batches that it may get so far, as its client knows. */
  credit: number
  batches: number
  /** Its client sent a Cancel while it was live. */
  wasCanceled: boolean
  readonly parts: Part[]
  /** Of a Done or ExecResult. */
  tip: number | undefined
  error: { readonly code: string; readonly message: string } | undefined
}

/** Something a socket did, in the order of its frames. */
export type Step =
  | { readonly request: RequestRecord }
  | { readonly creditAt: number; readonly to: RequestRecord | undefined }

export const isStream = ({ work }: RequestRecord): boolean => work.kind === "query" || work.kind === "batch"

export function describe({ work, id }: RequestRecord): string {
  const ops = work.kind === "batch" ? work.ops : "op" in work ? [work.op] : []
  return `${work.kind} ${id} ${JSON.stringify(ops, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value))}`
}
