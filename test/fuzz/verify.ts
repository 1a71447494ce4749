import { Context, type Outcome, type Scope, show, type Writes } from "./model.ts"
import type { Op } from "./ops.ts"
import { describe, type Part, type RequestRecord } from "./request-record.ts"
import { Finding } from "./runs.ts"

/** How an answer stands to what its request did. */
export type Fate =
  /** It did not run. */
  | "skipped"
  /** Its socket or database went away first: it may have run. */
  | "unknown"
  /** It answered in full. */
  | "answered"
  /** It ran, and its rows were cut short. */
  | "cut"

/** Errors that end an answer from outside, whatever its statement does. */
const fromOutside = /^(canceled|not_found|aborted|SQLITE_IOERR.*)$/

export function fateOf({ endedAt, error, parts }: RequestRecord): Fate {
  if (endedAt === undefined) return parts.length > 0 ? "cut" : "unknown"
  if (!error || !fromOutside.test(error.code)) return error?.code === "unavailable" ? "skipped" : "answered"
  if (parts.length > 0) return "cut"
  return error.code === "canceled" ? "skipped" : "unknown"
}

/** A disagreement between an answer and the model. */
export class Mismatch extends Finding {}

interface Verified {
  readonly rollsBack: boolean
  readonly writes: Writes
}

/** Runs a statement or batch in the model and compares its answer. Throws Mismatch. */
export function verify(record: RequestRecord, context: Context): Verified {
  const { work } = record
  const fate = fateOf(record)
  if (fate === "skipped") return { rollsBack: false, writes: "no" }
  if (work.kind === "batch") return verifyBatch(record, work.ops, context)
  if (work.kind !== "exec" && work.kind !== "query") throw new Mismatch(`${describe(record)} is no statement`)
  const before = context.state.clone()
  const outcome = context.run(work.op)
  // What returns rows through a query runs inside a savepoint or transaction of its own.
  const isUndone = outcome.error !== undefined && work.kind === "query" && "returning" in work.op && work.op.returning
  if (isUndone) context.state.assign(before)
  compareError(record, fate, outcome.error)
  if (outcome.error === undefined) {
    const [part] = record.parts
    if (work.kind === "exec" && fate === "answered") compareExec(record, part, outcome)
    if (work.kind === "query" && fate !== "unknown") compareRows(record, part, outcome, fate)
  }
  return { rollsBack: outcome.rollsBack ?? false, writes: isUndone ? "no" : outcome.writes }
}

function verifyBatch(record: RequestRecord, ops: readonly Op[], context: Context): Verified {
  const fate = fateOf(record)
  const scope: Scope = "batch"
  const inner = new Context(context.state.clone(), scope, context.scope === "auto" ? 0n : context.lastRowid)
  const outcomes: Outcome[] = []
  const undone = (error: string, prefix: string, rollsBack: boolean) => {
    compareError(record, fate, error, prefix)
    context.lastRowid = inner.lastRowid
    return { rollsBack, writes: "no" as const }
  }
  for (const [index, op] of ops.entries()) {
    const outcome = inner.run(op)
    if (outcome.error !== undefined) return undone(outcome.error, `statement ${index}: `, outcome.rollsBack ?? false)
    outcomes.push(outcome)
  }
  if (context.scope === "auto" && !inner.state.isSound) return undone("SQLITE_CONSTRAINT_FOREIGNKEY", "", false)
  compareError(record, fate, undefined)
  if (fate === "answered" && record.parts.length !== outcomes.length) {
    throw new Mismatch(`${describe(record)} has ${record.parts.length} parts`)
  }
  record.parts.forEach((part, i) => {
    const outcome = outcomes[i] as Outcome
    const isLast = i === record.parts.length - 1
    if (outcome.columns.length > 0) compareRows(record, part, outcome, isLast ? fate : "answered")
    else compareExec(record, part, outcome)
  })
  context.state.assign(inner.state)
  context.lastRowid = inner.lastRowid
  const all = outcomes.map(({ writes }) => writes)
  return {
    rollsBack: false,
    writes: all.find((writes) => writes === "yes") ?? all.find((writes) => writes === "perhaps") ?? "no",
  }
}

function compareError(record: RequestRecord, fate: Fate, expected: string | undefined, prefix = ""): void {
  // A cut answer began, so there was no error before.
  const got = fate === "answered" ? record.error?.code : undefined
  if (fate === "unknown") return
  if (got !== expected) {
    throw new Mismatch(
      `${describe(record)} gave ${got ?? "no error"} (${record.error?.message}), expected ${expected ?? "none"}`,
    )
  }
  const named = /^statement \d+: |^/.exec(record.error?.message ?? "")?.[0]
  if (got !== undefined && named !== prefix)
    throw new Mismatch(`${describe(record)} names "${named}", expected "${prefix}"`)
}

function compareExec(record: RequestRecord, part: Part | undefined, expected: Outcome): void {
  if (!part || "rows" in part) throw new Mismatch(`${describe(record)} gave no counters`)
  const { rowsAffected, lastInsertId } = part
  if (rowsAffected === expected.rowsAffected && lastInsertId === expected.lastInsertId) return
  const wanted = show([expected.rowsAffected, expected.lastInsertId])
  throw new Mismatch(`${describe(record)} gave ${show([rowsAffected, lastInsertId])}, expected ${wanted}`)
}

function compareRows(record: RequestRecord, part: Part | undefined, expected: Outcome, fate: Fate): void {
  if (!part || !("rows" in part)) throw new Mismatch(`${describe(record)} gave no columns`)
  const wanted = fate === "cut" ? expected.rows.slice(0, part.rows.length) : expected.rows
  const [got, want] = [show([part.columns, part.rows]), show([expected.columns, wanted])]
  if (got !== want) throw new Mismatch(`${describe(record)} gave ${got}, expected ${want}`)
}
