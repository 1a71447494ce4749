import type {
  AgentDB_Wire_ColumnBatch as ColumnBatch,
  AgentDB_Wire_ServerMessage as ServerMessage,
} from "../gen/livekit_agentdb_pb.ts"
import { Deviation, holds, same } from "./deviation.ts"

export type ServerBody = ServerMessage["message"]
export type Cell = null | bigint | number | string | Uint8Array

/** An answer, frame by frame, and what it comes to. */
export interface Answer {
  /** The kinds of its frames, and at the end `closed` where the socket closed before. */
  readonly kinds: string[]
  readonly columns: string[][]
  readonly rows: Cell[][]
  readonly execs: { rowsAffected: bigint; lastInsertId: bigint; tip: bigint }[]
  readonly helloOk: { tip: bigint; pingIntervalMs: number; pingTimeoutMs: number } | undefined
  readonly pong: { lastPingTimestampMs: bigint } | undefined
  readonly done: { tip: bigint; totalRows: bigint } | undefined
  readonly error: { code: string; message: string } | undefined
}

/** Gathers the frames of one answer. */
export class AnswerBuilder {
  readonly answer: { -readonly [K in keyof Answer]: Answer[K] } = {
    kinds: [],
    columns: [],
    rows: [],
    execs: [],
    helloOk: undefined,
    pong: undefined,
    done: undefined,
    error: undefined,
  }
  readonly #isBatch: boolean

  /** @param isBatch an ExecResult is not the end of a batch's answer, as it is of every other. */
  constructor(isBatch: boolean) {
    this.#isBatch = isBatch
  }

  /** @returns whether the answer has ended */
  take(body: ServerBody): boolean {
    const { answer } = this
    answer.kinds.push(body.case ?? "unset")
    switch (body.case) {
      case "columns":
        answer.columns.push(body.value.names)
        return false
      case "columnBatch":
        answer.rows.push(...rowsOf(body.value))
        return false
      case "execResult": {
        const { rowsAffected, lastInsertId, tip } = body.value
        answer.execs.push({ rowsAffected, lastInsertId, tip })
        return !this.#isBatch
      }
      case "done":
        answer.done = { tip: body.value.tip, totalRows: body.value.totalRows }
        return true
      case "helloOk": {
        const { tip, pingIntervalMs, pingTimeoutMs } = body.value
        answer.helloOk = { tip, pingIntervalMs, pingTimeoutMs }
        return true
      }
      case "pong":
        answer.pong = { lastPingTimestampMs: body.value.lastPingTimestampMs }
        return true
      case "error":
        answer.error = { code: body.value.code, message: body.value.message }
        return true
      default:
        return true
    }
  }
}

/**
 * Rows by the schema's rule: walk `types`, and take the next entry of the matching array.
 * @throws Deviation where tags and arrays do not agree
 */
function rowsOf(batch: ColumnBatch): Cell[][] {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  const columns = batch.columns.map((column, index) => {
    const about = `column ${index} of a ColumnBatch`
    same(column.types.length, batch.rows, `${about}: one tag per row`)
    checkEnds(column.textEnds, column.textData.length, `${about}, text_ends`)
    checkEnds(column.blobEnds, column.blobData.length, `${about}, blob_ends`)
    const next = [0, 0, 0, 0, 0]
    const slice = (data: Uint8Array, ends: number[], i: number) => data.slice(i === 0 ? 0 : ends[i - 1], ends[i])
    const cells = [...column.types].map((type): Cell => {
      holds(type < next.length, "a ValueType from 0 to 4", type, about)
      const i = next[type] as number
      next[type] = i + 1
      if (type === 0) return null
      if (type === 1) return entry(column.ints, i, `${about}, ints`)
      if (type === 2) return entry(column.doubles, i, `${about}, doubles`)
      if (type === 3) return decoder.decode(slice(column.textData, column.textEnds, i))
      return slice(column.blobData, column.blobEnds, i)
    })
    const counts = [column.ints.length, column.doubles.length, column.textEnds.length, column.blobEnds.length]
    same(counts, next.slice(1), `${about}: entries of ints, doubles, text_ends, blob_ends by their tags`)
    return cells
  })
  return Array.from({ length: batch.rows }, (_, row) => columns.map((column) => column[row] as Cell))
}

function entry<T>(array: readonly T[], i: number, about: string): T {
  const value = array[i]
  if (value === undefined) throw new Deviation(about, `an entry ${i}`, `${array.length} entries`)
  return value
}

function checkEnds(ends: readonly number[], length: number, about: string): void {
  let before = 0
  for (const end of ends) {
    holds(end >= before && end <= length, `an end from ${before} to ${length}`, end, about)
    before = end
  }
  same(before, length, `${about}: the last end is the length of the data`)
}
