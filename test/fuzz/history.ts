import { Context, type State, type Writes } from "./model.ts"
import { describe } from "./request-record.ts"
import { fateOf, Mismatch, verify } from "./verify.ts"
import { type Alone, type Interactive, type Piece, tipOf } from "./walk.ts"

/** What a piece does to a state. Throws Mismatch where its answers say otherwise. */
interface Run {
  readonly next: State
  /** "perhaps" also where something was written and taken back, of which the log may keep a trace. */
  readonly writes: Writes
}

export interface Ending {
  /** The tip that is there at the end; where nobody can look any more, the newest that anybody was told. */
  readonly tip: number
  /** What is there; undefined where it cannot be looked at any more. */
  readonly state: State | undefined
}

/** Copies that were taken on the way. */
export interface Copy {
  readonly tip: number
  readonly state: State
}

/**
 * Whether some history explains every answer: an order of the commits, one a tip, in which each request saw what it
 * said that it saw. Acknowledged commits are in it; those whose answer never came may be.
 * @param sockets the pieces of each socket, in order
 * @param start the content at tip `base`
 * @throws Mismatch with what cannot be explained
 */
export function explain(
  sockets: readonly Piece[][],
  base: number,
  start: State,
  end: Ending,
  copies: readonly Copy[],
): void {
  const pieces = sockets.flatMap((socket, index) => socket.map((piece, order) => ({ piece, socket: index, order })))
  type Placed = (typeof pieces)[number]
  const states: State[] = []
  states[base] = start
  const placed = new Map<Piece, Placed>()
  let best: { tip: number; why: Mismatch } | undefined
  const fail = (tip: number, why: string): false => {
    if (!best || tip >= best.tip) best = { tip, why: new Mismatch(why) }
    return false
  }

  const canFollow = (candidate: Placed): boolean => {
    if (tipTold(candidate.piece) !== undefined) return true
    // Of one socket nothing overtakes: neither may what came later have been placed before.
    for (const other of placed.values()) {
      if (other.socket === candidate.socket && other.order > candidate.order) return false
    }
    return true
  }

  const step = (tip: number): boolean => {
    if (tip >= end.tip && settles(tip)) return true
    if (tip >= end.tip && end.state) return false
    const before = states[tip] as State
    let why = `nothing explains commit ${tip + 1}, after ${before.text}`
    for (const candidate of pieces) {
      const { piece } = candidate
      if (placed.has(piece) || !mayCommitAt(piece, tip + 1) || !canFollow(candidate)) continue
      try {
        const { next, writes } = run(piece, before)
        if (writes === "no") continue
        placed.set(piece, candidate)
        states.length = tip + 1
        states.push(next)
        if (step(tip + 1)) return true
        placed.delete(piece)
      } catch (error) {
        if (!(error instanceof Mismatch)) throw error
        why = `${error.message}; at commit ${tip + 1}, after ${before.text}`
      }
    }
    return fail(tip, why)
  }

  const settles = (tip: number): boolean => {
    const last = states[tip] as State
    if (end.state && end.state.text !== last.text)
      return fail(tip, `the end is ${end.state.text}, expected ${last.text}`)
    for (const copy of copies) {
      const expected = states[copy.tip]?.text ?? "nothing"
      if (copy.state.text !== expected)
        return fail(tip, `the copy at ${copy.tip} is ${copy.state.text}, expected ${expected}`)
    }
    for (const { piece } of pieces) {
      if (placed.has(piece)) continue
      const why = whyNotWithoutCommit(piece, states, tip)
      if (why !== undefined) return fail(tip, why)
    }
    return true
  }

  if (!step(base)) throw best?.why ?? new Mismatch("no history")
}

/** The tip that a piece told as that of its commit. */
function tipTold(piece: Piece): number | undefined {
  if (piece.kind === "alone") return tipOf(piece.record)
  return piece.commit?.tip
}

function mayCommitAt(piece: Piece, tip: number): boolean {
  const told = tipTold(piece)
  if (piece.kind === "interactive") {
    if (!piece.commit || (told !== undefined && told !== tip)) return false
    return piece.base === undefined ? tip > piece.floor : piece.base === tip - 1
  }
  if (piece.reads || fateOf(piece.record) === "skipped") return false
  return told === undefined ? tip > piece.floor && tip <= piece.ceiling : told === tip
}

function run(piece: Piece, before: State): Run {
  return piece.kind === "alone" ? runAlone(piece, before) : runInteractive(piece, before)
}

function runAlone({ record }: Alone, before: State): Run {
  const context = new Context(before.clone(), "auto")
  const { writes } = verify(record, context)
  return { next: context.state, writes }
}

function runInteractive({ records, commit }: Interactive, before: State): Run {
  const context = new Context(before.clone(), "transaction")
  let touched = false
  for (const record of records) {
    if (record.work.kind === "commit") {
      const isRefused = record.error?.code === "SQLITE_CONSTRAINT_FOREIGNKEY"
      if (isRefused === context.state.isSound && fateOf(record) === "answered") {
        throw new Mismatch(`${describe(record)} gave ${record.error?.code}: ${record.error?.message}`)
      }
      continue
    }
    const { rollsBack } = verify(record, context)
    if (fateOf(record) !== "skipped") touched = true
    if (rollsBack) return { next: before, writes: "no" }
  }
  if (!context.state.isSound && commit) {
    if (commit.endedAt !== undefined && !commit.error) throw new Mismatch("a commit with a child that has no parent")
    return { next: before, writes: "no" }
  }
  const writes = context.state.text !== before.text ? "yes" : touched ? "perhaps" : "no"
  return { next: context.state, writes }
}

/** Why the answers of a piece do not fit, given that it made no commit. */
function whyNotWithoutCommit(piece: Piece, states: readonly State[], last: number): string | undefined {
  const told = piece.kind === "interactive" ? piece.base : tipOf(piece.record)
  if (piece.kind === "interactive") {
    if (told === undefined) return undefined
    const { commit } = piece
    if (commit?.tip !== undefined && commit.tip !== told)
      return `the transaction of ${told} committed at ${commit.tip}, which another did`
  } else if (fateOf(piece.record) === "skipped") return undefined
  const from = told ?? piece.floor
  const to = told ?? (piece.kind === "alone" ? Math.min(piece.ceiling, last) : last)
  let why = `tip ${told} was told and is not there: ${piece.kind === "alone" ? describe(piece.record) : "a transaction"}`
  for (let tip = from; tip <= to; tip++) {
    const state = states[tip]
    if (!state) continue
    try {
      const { writes } = run(piece, state)
      const isKept = piece.kind === "alone" || piece.commit?.tip !== undefined
      if (writes !== "yes" || !isKept) return undefined
      // What may not have run at all.
      if (piece.kind === "alone" && fateOf(piece.record) === "unknown") return undefined
      why = `${piece.kind === "alone" ? describe(piece.record) : "a transaction"} at ${tip} wrote and made no commit`
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      why = `${error.message}; at ${tip}: ${state.text}`
    }
  }
  return fateOfPiece(piece) === "unknown" ? undefined : why
}

function fateOfPiece(piece: Piece) {
  return piece.kind === "alone" ? fateOf(piece.record) : "answered"
}
