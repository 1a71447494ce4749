import type { CallOptions, Executor } from "../../client/index.ts"
import type { Table } from "../catalog.ts"
import { type Cell, isLarge } from "../cells.ts"
import { quoteName } from "../quote.ts"
import { type ScannedRow, scanTable, slices } from "../scan.ts"
import { compareKeys, keyCells, sameCell } from "./compare.ts"
import { SnapshotNeeded } from "./snapshot-needed.ts"

/** What became of one row: `before` and `after` are undefined where there was or is none. */
export type Change = { readonly table: Table } & (
  | { readonly kind: "insert"; readonly before: undefined; readonly after: ScannedRow }
  | { readonly kind: "delete"; readonly before: ScannedRow; readonly after: undefined }
  | { readonly kind: "update"; readonly before: ScannedRow; readonly after: ScannedRow }
)

interface Sides {
  readonly base: Executor
  readonly current: Executor
  readonly encoding: string
}

/**
 * What changed in a table between two copies, by merging both in the order of its key. Memory is bounded.
 * @throws SnapshotNeeded where changed values are too large to go along
 */
export async function* diffTable(sides: Sides, table: Table, o: CallOptions = {}): AsyncGenerator<Change, void> {
  const { encoding } = sides
  const old = orderedRows(scanTable(sides.base, table, encoding, o), table)
  const now = orderedRows(scanTable(sides.current, table, encoding, o), table)
  try {
    let [before, after] = await Promise.all([old.next(), now.next()])
    while (!before.done || !after.done) {
      const order = before.done ? 1 : after.done ? -1 : compareKeys(table.key, before.value.key, after.value.key)
      if (order < 0 && !before.done) {
        yield { table, kind: "delete", before: before.value.row, after: undefined }
        before = await old.next()
      } else if (order > 0 && !after.done) {
        yield { table, kind: "insert", before: undefined, after: checked(table, after.value.row) }
        after = await now.next()
      } else if (!before.done && !after.done) {
        const change = { table, kind: "update", before: before.value.row, after: after.value.row } as const
        if (await differs(sides, change, o)) yield change
        ;[before, after] = await Promise.all([old.next(), now.next()])
      }
    }
  } finally {
    await Promise.all([old.return(), now.return()])
  }
}

async function* orderedRows(
  batches: AsyncGenerator<ScannedRow[], void>,
  table: Table,
): AsyncGenerator<{ row: ScannedRow; key: Cell[] }, void> {
  let last: Cell[] | undefined
  for await (const rows of batches) {
    for (const row of rows) {
      const key = keyCells(table, row)
      if (key.some(isLarge)) throw tooLarge(table)
      if (last && compareKeys(table.key, last, key) >= 0) {
        throw new SnapshotNeeded(`the order of ${quoteName(table.name)} is not known`)
      }
      last = key
      yield { row, key }
    }
  }
}

/** @throws SnapshotNeeded if the value that differs is too large. */
async function differs(
  { base, current }: Sides,
  { table, before, after }: { table: Table; before: ScannedRow; after: ScannedRow },
  o: CallOptions,
): Promise<boolean> {
  let changed = false
  for (const [column, was] of before.cells.entries()) {
    const is = after.cells[column] as Cell
    const same = sameCell(was, is)
    if (same === false) {
      if (isLarge(is)) throw tooLarge(table)
      changed = true
    } else if (same === undefined) {
      const pieces = slices(base, table, column, before, o)
      for await (const slice of slices(current, table, column, after, o)) {
        const other = (await pieces.next()).value
        if (!other || sameCell(bytes(slice), bytes(other)) !== true) throw tooLarge(table)
      }
    }
  }
  return changed
}

const bytes = (slice: Uint8Array<ArrayBuffer>) => ({ text: false, length: slice.length, bytes: slice })

function checked(table: Table, row: ScannedRow): ScannedRow {
  if (row.cells.some(isLarge)) throw tooLarge(table)
  return row
}

const tooLarge = ({ name }: Table) => new SnapshotNeeded(`a changed value of ${quoteName(name)} is too large`)
