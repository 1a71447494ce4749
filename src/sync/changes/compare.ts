import type { KeyTerm, Table } from "../catalog.ts"
import { type Bytes, type Cell, isBytes } from "../cells.ts"
import type { ScannedRow } from "../scan.ts"

/** The values of a row's key, in the order of the terms. */
export function keyCells({ key, columns }: Table, { rowid, cells }: ScannedRow): Cell[] {
  return key.map(({ name }) => rowid ?? (cells[columns.indexOf(name)] as Cell))
}

/** Which of two rows comes first in the order that SQLite keeps the table in. */
export function compareKeys(terms: readonly KeyTerm[], a: readonly Cell[], b: readonly Cell[]): number {
  for (const [index, { collation, descending }] of terms.entries()) {
    const order = compareCells(a[index] as Cell, b[index] as Cell, collation)
    if (order !== 0) return descending ? -order : order
  }
  return 0
}

/** The same storage class and the same bits. Undefined where a value has to be read in slices to know. */
export function sameCell(a: Cell, b: Cell): boolean | undefined {
  if (!isBytes(a) || !isBytes(b)) return Object.is(a, b)
  if (a.text !== b.text || a.length !== b.length) return false
  return a.bytes && b.bytes ? compareBytes(a.bytes, b.bytes) === 0 : undefined
}

/** NULL, then numbers by value, then TEXT by its collation, then BLOB. */
function compareCells(a: Cell, b: Cell, collation: string | undefined): number {
  const rank = rankOf(a) - rankOf(b)
  if (rank !== 0 || a === null || b === null) return rank
  if (isBytes(a) && isBytes(b)) return compareBytes(collated(a, collation), collated(b, collation))
  // An integer and a real are compared by their exact values.
  return a < b ? -1 : a > b ? 1 : 0
}

const rankOf = (cell: Cell) => (cell === null ? 0 : !isBytes(cell) ? 1 : cell.text ? 2 : 3)

function collated({ text, bytes }: Bytes, collation: string | undefined): Uint8Array {
  if (!bytes) throw new Error("a key comes with its row")
  if (!text) return bytes
  if (collation === "NOCASE") return bytes.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte))
  if (collation !== "RTRIM") return bytes
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0x20) end--
  return bytes.subarray(0, end)
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
