import type { Peer } from "./peer.ts"
import { columns, fill, fillScalars, insert, message, scalarColumns } from "./table.ts"

/** Milliseconds unless the name says what else. */
export type Figures = Record<string, number>

export interface Sizes {
  readonly scanRows: number
  readonly scalarRows: number
  readonly slowRows: number
}

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** From nothing to a database with rows in it. */
export async function write(open: () => Promise<Peer>, sizes: Sizes): Promise<Figures> {
  const figures: Figures = {}
  const start = performance.now()
  const peer = await open()
  await peer.all("SELECT 1 AS one")
  figures["cold open"] = performance.now() - start
  const { dialect } = peer
  await peer.exec(`CREATE TABLE messages${columns(dialect)}`)
  await peer.exec(insert, message(0))
  figures["400 inserts, one after another"] = await timed(async () => {
    for (let i = 1; i <= 400; i++) await peer.exec(insert, message(i))
  })
  figures["1,000 inserts, pipelined"] = await timed(() =>
    Promise.all(Array.from({ length: 1000 }, (_, i) => peer.exec(insert, message(i)))),
  )
  const reads: number[] = []
  for (let i = 0; i < 1000; i++) {
    const id = 1 + ((i * 7919) % 1400)
    reads.push(await timed(() => peer.get("SELECT * FROM messages WHERE id = ?", [id])))
  }
  figures["point read, median"] = median(reads)
  const rows = Array.from({ length: 10_000 }, (_, i) => message(i))
  figures["10,000 rows in a batch"] = await timed(() => peer.many(insert, rows))
  await peer.exec(`CREATE TABLE scanned${columns(dialect)}`)
  await fillScanned(peer, sizes.scanRows)
  const [count] = await peer.all("SELECT count(*) AS n FROM scanned")
  if (Number(count?.["n"]) !== sizes.scanRows) throw new Error(`filled ${String(count?.["n"])} rows`)
  if (peer.columns) {
    await peer.exec(`CREATE TABLE scalars${scalarColumns}`)
    await peer.exec(fillScalars(sizes.scalarRows))
  }
  // What has to be written in the background is, before the page goes.
  await new Promise((resolve) => setTimeout(resolve, 300))
  return figures
}

async function fillScanned(peer: Peer, count: number): Promise<void> {
  if (!peer.filledFromPage) {
    await peer.exec(fill(peer.dialect, "scanned", count))
    return
  }
  const into = insert.replace("messages", "scanned")
  for (let from = 1; from <= count; from += 10_000) {
    await peer.many(
      into,
      Array.from({ length: Math.min(10_000, count + 1 - from) }, (_, i) => message(from + i)),
    )
  }
}

/** In a fresh page. A peer that forgot everything is filled again, outside the times. */
export async function read(open: () => Promise<Peer>, sizes: Sizes): Promise<Figures> {
  const figures: Figures = {}
  const start = performance.now()
  const peer = await open()
  if (peer.durable) {
    const one = await peer.get("SELECT * FROM messages WHERE id = ?", [1])
    if (!one) throw new Error("what was written is not there")
    figures["reopen"] = performance.now() - start
  } else {
    await peer.exec(`CREATE TABLE scanned${columns(peer.dialect)}`)
    await fillScanned(peer, sizes.scanRows)
  }
  const scan = async (sql: string, rows: number, into: string) => {
    const blocks = watchBlocks()
    figures[into] = await timed(async () => {
      const { length } = await peer.all(sql)
      if (length !== rows) throw new Error(`${length} rows`)
    })
    return blocks()
  }
  const all = `SELECT * FROM scanned LIMIT ${sizes.scanRows}`
  await scan("SELECT * FROM scanned LIMIT 200", 200, "200 rows, the first time")
  const n = sizes.scanRows.toLocaleString("en")
  figures["longest block of the page"] = await scan(all, sizes.scanRows, `${n} rows to objects, fresh page`)
  await scan(all, sizes.scanRows, `${n} rows to objects, second time`)
  await scan("SELECT * FROM scanned LIMIT 8000", 8000, "8,000 rows to objects")
  if (peer.firstRow) {
    await peer.firstRow(all)
    figures["first row of a scan"] = median([
      await peer.firstRow(all),
      await peer.firstRow(all),
      await peer.firstRow(all),
    ])
  }
  if (peer.columns) {
    const scalars = "SELECT * FROM scalars"
    const m = sizes.scalarRows.toLocaleString("en")
    await scan(scalars, sizes.scalarRows, `${m} x 4 scalars to objects`)
    figures[`${m} x 4 scalars to columns`] = await timed(() => peer.columns?.(scalars))
  }
  return figures
}

/** Reads with a pause after each batch, for as long as somebody outside looks at the memory. */
export async function slowly(open: () => Promise<Peer>, sizes: Sizes): Promise<Figures> {
  const peer = await open()
  const rows = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${sizes.slowRows})
    SELECT i, 'message ' || i || ' of a long talk that goes on and on' AS content FROM n`
  const read = await peer.slowly?.(rows, 1)
  if (read !== sizes.slowRows) throw new Error(`${read} rows`)
  return {}
}

/** The longest time in which the page could do nothing else (ms). */
function watchBlocks(): () => number {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }, 4)
  return () => {
    clearInterval(timer)
    return Math.max(longest, performance.now() - last)
  }
}

export function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN
}
