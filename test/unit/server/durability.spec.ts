import { expect, test } from "@playwright/test"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import type { DatabaseFiles, Storage, SyncFile } from "../../../src/storage/storage.ts"
import { TestService } from "../../fixtures/service.ts"
import { settle } from "../../fixtures/wire-peer.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

/** Memory storage whose WAL flushes are counted, and fail while told so. */
class WatchedStorage extends MemoryStorage {
  flushes = 0
  failing = false
  /** Called before each WAL flush. */
  beforeFlush = () => {}

  override async create(...args: Parameters<Storage["create"]>) {
    return this.#watch(await super.create(...args))
  }
  override async open(...args: Parameters<Storage["open"]>) {
    return this.#watch(await super.open(...args))
  }

  #watch(files: DatabaseFiles): DatabaseFiles {
    const wal = files.wal
    const watched: SyncFile = {
      read: (into, options) => wal.read(into, options),
      write: (from, options) => wal.write(from, options),
      truncate: (size) => wal.truncate(size),
      getSize: () => wal.getSize(),
      close: () => wal.close(),
      flush: () => {
        this.beforeFlush()
        if (this.failing) throw new Error("the disk is on fire")
        this.flushes++
        wal.flush()
      },
    }
    return { path: files.path, main: files.main, wal: watched, meta: files.meta, close: () => files.close() }
  }
}

async function start(limits: Parameters<typeof TestService.start>[0] = {}) {
  const storage = new WatchedStorage()
  const at = await TestService.start(limits, { storage })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(x)")
  return { at, a, b, storage, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

test("commits that wait together share one flush, and no frame that could have seen one leaves before it, a reader's included", async () => {
  await using db = await start()
  const { at, a, b, storage } = db
  const c = await at.connect()
  const peers = [a, b, c]
  for (const peer of peers) await settle(peer)
  const left = () => peers.map((peer) => peer.framesLeft)
  const [before, flushes] = [left(), storage.flushes]
  const leftAtFlush: number[][] = []
  storage.beforeFlush = () => leftAtFlush.push(left())
  const writes = [a, b].map((peer) => peer.exec("INSERT INTO t VALUES(1)"))
  const read = c.query("SELECT count(*) FROM t")
  for (const write of writes) expect((await write).error).toBeUndefined()
  // The reader's snapshot was of commits that were not flushed yet.
  expect((await read).rows).toEqual([[2n]])
  expect(leftAtFlush).toEqual([before])
  expect(storage.flushes - flushes).toBe(1)
})

test("each of 64 commits at most waits for a flush", async () => {
  await using db = await start()
  const { a, storage } = db
  const before = storage.flushes
  await Promise.all(Array.from({ length: 200 }, (_, i) => a.exec(`INSERT INTO t VALUES(${i})`)))
  expect(storage.flushes - before).toBeGreaterThanOrEqual(3)
})

test("a failed flush fails what was not acknowledged with the engine's I/O error, never unavailable; then the database opens again", async () => {
  await using db = await start()
  const { at, a, b, storage } = db
  await a.exec("INSERT INTO t VALUES(1)")
  await b.begin()
  storage.failing = true
  const commit = b.exec("INSERT INTO t VALUES(2)").then(() => b.commit())
  const { error } = await commit
  expect(error?.code).toMatch(/^SQLITE_IOERR/)
  expect(await a.closed).toMatchObject({ code: 1011 })
  expect(await b.closed).toMatchObject({ code: 1011 })
  storage.failing = false
  const c = await at.connect()
  const { rows, done } = await c.query("SELECT x FROM t ORDER BY x")
  expect(rows[0]).toEqual([1n])
  // Whether the unacknowledged one is there is unknown, but the tip counts exactly what is.
  expect(done?.tip).toBe(BigInt(1 + rows.length))
  expect((await c.exec("INSERT INTO t VALUES(3)")).error).toBeUndefined()
})

test("a sync that fails inside the engine ends every socket too: no frame leaves, nothing hangs, nothing is uncaught", async () => {
  const storage = new WatchedStorage()
  const clock = new HandClock()
  await using at = await TestService.start({}, { storage, clock })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(x)")
  const stream = b.request({ case: "query", value: { sql: "SELECT 1" } })
  await stream.answer
  for (const lost of ["exec", "commit"] as const) {
    const [c, d] = [await at.connect(), await at.connect()]
    // At rest the WAL is emptied, and its new header is what the engine syncs by itself.
    await clock.advance(1_000)
    if (lost === "commit") {
      await c.begin()
      await c.exec("INSERT INTO t VALUES(2)")
    }
    storage.failing = true
    const answer = lost === "exec" ? c.exec("INSERT INTO t VALUES(1)") : c.commit()
    const beside = d.query("SELECT x FROM t")
    expect((await answer).error?.code, lost).toMatch(/^SQLITE_IOERR/)
    expect((await beside).error?.code, lost).toMatch(/^SQLITE_IOERR/)
    expect(await d.closed, lost).toMatchObject({ code: 1011 })
    storage.failing = false
  }
  const after = await at.connect()
  expect((await after.exec("INSERT INTO t VALUES(3)")).error).toBeUndefined()
})

test("a WAL above its limit ends the oldest stalled stream, and no other", async () => {
  await using db = await start({ walBytes: 8 * 1024 * 1024, firstBatchBytes: 1, batchBytes: 1 })
  const { at, a, b, storage: _ } = db
  await a.exec("INSERT INTO t VALUES(1),(2),(3),(4),(5),(6)")
  const stalled = b.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
  await settle(b)
  for (let i = 0; i < 12; i++) expect((await a.exec("INSERT INTO t VALUES(zeroblob(1000000))")).error).toBeUndefined()
  expect((await stalled.answer).error).toMatchObject({ code: "aborted" })
  const c = await at.connect()
  expect((await c.query("SELECT count(*) FROM t")).rows).toEqual([[18n]])
  expect((await b.query("SELECT 1")).rows).toEqual([[1n]])
})

test("the tip is the number of commits that changed the file, also after a restart without a close", async () => {
  const storage = new MemoryStorage()
  await using first = await TestService.start({}, { storage })
  const a = await first.connect()
  for (const sql of ["CREATE TABLE t(x)", "INSERT INTO t VALUES(1)", "INSERT INTO t VALUES(2)"]) await a.exec(sql)
  expect(await first.management.get(first.databaseId)).toMatchObject({ tip: 3 })
  await first.service.close()
  await using second = await TestService.start({}, { storage })
  expect(await second.management.get(first.databaseId)).toMatchObject({ tip: 3 })
  const b = await second.connect(first.databaseId)
  expect(b.log[0]?.body).toMatchObject({ case: "helloOk", value: { tip: 3n } })
})
