import { isRead, type Op } from "./ops.ts"
import { describe, type RequestRecord, type Step } from "./request-record.ts"
import { fateOf, Mismatch } from "./verify.ts"

/** A request outside a transaction. */
export interface Alone {
  readonly kind: "alone"
  readonly record: RequestRecord
  readonly reads: boolean
  /** The newest tip that its socket was told before, and the oldest that it was told after. */
  readonly floor: number
  ceiling: number
}

/** A transaction of a socket with what ran inside. */
export interface Interactive {
  readonly kind: "interactive"
  /** Where it began; undefined if the answer never came. */
  readonly base: number | undefined
  readonly records: RequestRecord[]
  /** The commit, if it has one that did not fail. */
  commit: RequestRecord | undefined
  readonly floor: number
}

export type Piece = Alone | Interactive

export interface WalkOptions {
  readonly txIdleMs: number
  readonly txTotalMs: number
  readonly writeWaitMs: number
  /** Codes with which everything ended at once: the database was deleted, or its disk failed. */
  readonly gone: RegExp | undefined
}

/** What a busy worker is given to read the frames that wait, before a socket is judged idle. */
const graceMs = 50

/**
 * One socket's requests, in the order in which they started, as pieces of the history. Checks what needs no look
 * at the data: the state of the socket's transaction, and that tips never go down.
 */
export function walk(steps: readonly Step[], helloTip: number, limits: WalkOptions): Piece[] {
  const pieces: Piece[] = []
  let floor = helloTip
  /** When it began and was last active, at the earliest and at the latest: a clock may go on while an answer is under way. */
  let open: (Interactive & { begun: readonly [number, number]; active: [number, number] }) | undefined
  let aborted = false
  /** A Cancel may have met the begin, whose answer never came: then what follows ran alone. */
  let perhapsAlone = false
  /** The disk failed under a commit: it may be there or not, and the socket may be in the aborted state. */
  let perhapsAborted = false

  const alone = (record: RequestRecord): Alone => ({
    kind: "alone",
    record,
    reads: !isBatch(record) && opsOf(record).every(isRead),
    floor: Math.max(floor, record.floor),
    ceiling: Number.POSITIVE_INFINITY,
  })
  const learn = (record: RequestRecord): void => {
    const tip = tipOf(record)
    if (tip === undefined) return
    if (tip < floor) throw new Mismatch(`${describe(record)} tells tip ${tip} after ${floor}`)
    floor = tip
    for (const piece of pieces) if (piece.kind === "alone") piece.ceiling = Math.min(piece.ceiling, tip)
  }
  const expect = (record: RequestRecord, code: string): void => {
    const got = record.error?.code ?? "no error"
    const isFromOutside = record.endedAt === undefined || fateOf(record) !== "answered"
    if (got !== code && !(isFromOutside && got !== "unavailable" && got !== "aborted")) {
      throw new Mismatch(`${describe(record)} gave ${got}: ${record.error?.message}; expected ${code}`)
    }
  }

  for (const step of steps) {
    if (!("request" in step)) {
      if (open && step.to) open.active[1] = Math.max(open.active[1], step.creditAt)
      continue
    }
    const record = step.request
    const { kind } = record.work
    const isOk = record.endedAt !== undefined && record.error === undefined
    const isSkipped = fateOf(record) === "skipped"
    checkEnd(record, limits)
    if (open) {
      const { begun, active } = open
      const isOver = (bound: 0 | 1) =>
        Math.min(active[bound] + limits.txIdleMs + graceMs, begun[bound] + limits.txTotalMs) <= record.sentAt
      const surely = isOver(1)
      const perhaps = isOver(0)
      if (surely || (perhaps && record.error?.code === "aborted")) {
        open = undefined
        aborted = true
      }
    }
    if (aborted) {
      if (kind === "rollback" && !isSkipped) aborted = false
      else if (kind === "commit" && !isSkipped) {
        expect(record, "aborted")
        aborted = false
      } else if (!isSkipped) expect(record, "aborted")
      if (kind === "rollback" && record.endedAt !== undefined && !isOk && !isSkipped) expect(record, "no error")
      learn(record)
      continue
    }
    const isCutShort = record.parts.length > 0 && open !== undefined
    if (record.error?.code === "aborted" && !isCutShort && !perhapsAborted) expect(record, "something else")
    if (!open) {
      if (kind === "begin") {
        if (record.error && !perhapsAborted) expect(record, "unavailable")
        const isUnknown = fateOf(record) === "unknown"
        if (!record.error || isUnknown) {
          const begun = [record.sentAt, record.endedAt ?? record.sentAt] as const
          open = {
            kind: "interactive",
            base: record.tip,
            records: [],
            commit: undefined,
            floor: Math.max(floor, record.floor),
            begun,
            active: [...begun],
          }
          learn(record)
          pieces.push(open)
          perhapsAlone ||= isUnknown && (record.wasCanceled || record.error !== undefined)
        }
      } else if (kind === "commit" || kind === "rollback") {
        if (!perhapsAborted) expect(record, "failed_precondition")
      } else {
        const piece = alone(record)
        learn(record)
        piece.ceiling = tipOf(record) ?? piece.ceiling
        pieces.push(piece)
      }
      continue
    }
    if (perhapsAlone && ("op" in record.work || isBatch(record))) pieces.push(alone(record))
    const { active } = open
    if (!isSkipped) active[0] = Math.max(active[0], record.sentAt)
    active[1] = Math.max(active[1], record.sentAt)
    if (kind === "begin") expect(record, "failed_precondition")
    else if (kind === "rollback") {
      if (record.error && !isSkipped) expect(record, "no error")
      if (!isSkipped) open = undefined
    } else if (kind === "commit" && !isSkipped && (!record.error || fateOf(record) === "unknown")) {
      open.commit = record
      open = undefined
      perhapsAborted ||= record.error !== undefined
    } else {
      open.records.push(record)
      if (endsTransaction(record)) {
        open = undefined
        aborted = true
      }
    }
    learn(record)
  }
  return pieces
}

/** An answer that ends a request from outside needs its reason. */
function checkEnd(record: RequestRecord, { writeWaitMs, gone }: WalkOptions): void {
  const code = record.error?.code ?? ""
  const waited = (record.endedAt ?? 0) - record.sentAt
  const isWrong =
    (code === "canceled" && !record.wasCanceled) ||
    (code === "unavailable" && waited < writeWaitMs) ||
    (/^(not_found|SQLITE_IOERR)/.test(code) && !gone?.test(code))
  if (isWrong) throw new Mismatch(`${describe(record)} gave ${code} after ${waited} ms: ${record.error?.message}`)
}

/** The tip that an answer tells, whole or not. */
export function tipOf(record: RequestRecord): number | undefined {
  if (record.tip !== undefined) return record.tip
  for (const part of record.parts) if ("tip" in part) return Number(part.tip)
  return undefined
}

const isBatch = ({ work }: RequestRecord): boolean => work.kind === "batch"

function opsOf({ work }: RequestRecord): readonly Op[] {
  return work.kind === "batch" ? work.ops : "op" in work ? [work.op] : []
}

/** A conflict whose clause ends the whole transaction. */
function endsTransaction(record: RequestRecord): boolean {
  if (record.error?.code !== "SQLITE_CONSTRAINT_PRIMARYKEY") return false
  const index = isBatch(record) ? Number(/^statement (\d+)/.exec(record.error.message)?.[1]) : 0
  const op = opsOf(record)[index]
  return op?.op === "insert" && op.clause === "OR ROLLBACK"
}
