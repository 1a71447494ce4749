import { AgentDBError, type Batch, type RowStream } from "../client/index.ts"
import { type Cell, columnsOf } from "./cells.ts"

interface Side {
  readonly batches: AsyncIterator<Batch>
  columns: Cell[][]
  rows: number
  /** Rows of the batch that were given already. */
  at: number
  ended: boolean
}

/**
 * Several results over the same rows as one, with the columns of all of them.
 * @throws AgentDBError `aborted` if they are not of the same rows
 */
export async function* sideBySide(
  streams: readonly RowStream<unknown>[],
  name: string,
): AsyncGenerator<{ rows: number; columns: Cell[][] }, void> {
  const sides = streams.map(
    (stream): Side => ({
      ...{ batches: stream.batches()[Symbol.asyncIterator](), columns: [], rows: 0, at: 0 },
      ended: false,
    }),
  )
  try {
    for (;;) {
      await Promise.all(sides.map(fetchMore))
      if (sides.every(({ ended }) => ended)) return
      if (sides.some(({ ended }) => ended)) throw new AgentDBError("aborted", `${name} changed while it was read`)
      const rows = Math.min(...sides.map(({ rows, at }) => rows - at))
      yield { rows, columns: sides.flatMap((side) => take(side, rows)) }
    }
  } finally {
    await Promise.all(sides.map(({ batches }) => batches.return?.()))
  }
}

function take(side: Side, rows: number): Cell[][] {
  const { columns, at } = side
  side.at += rows
  return at === 0 && rows === side.rows ? columns : columns.map((column) => column.slice(at, at + rows))
}

async function fetchMore(side: Side): Promise<void> {
  while (!side.ended && side.at >= side.rows) {
    const { done, value } = await side.batches.next()
    side.ended = done === true
    if (done) return
    side.columns = columnsOf(value)
    side.rows = value.rows
    side.at = 0
  }
}
