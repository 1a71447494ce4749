import { expect, test } from "@playwright/test"
import { macrotask } from "../../../src/link/macrotask.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import type { DatabaseFiles, Storage } from "../../../src/storage/storage.ts"
import { TestService } from "../../fixtures/service.ts"
import { settle } from "../../fixtures/wire-peer.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

/** Memory storage that shows the WAL of the database that was opened last. */
class OpenStorage extends MemoryStorage {
  walFlushes = 0
  walSize = () => 0

  override async create(...args: Parameters<Storage["create"]>) {
    return this.#watch(await super.create(...args))
  }

  #watch(files: DatabaseFiles): DatabaseFiles {
    const { wal } = files
    const flush = wal.flush.bind(wal)
    this.walSize = () => wal.getSize()
    wal.flush = () => {
      this.walFlushes++
      flush()
    }
    return files
  }
}

test("at rest the WAL is emptied, so that the file is whole without it", async () => {
  const storage = new OpenStorage()
  const clock = new HandClock()
  await using at = await TestService.start({}, { storage, clock })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await peer.exec("INSERT INTO t VALUES(zeroblob(100000))")
  expect(storage.walSize()).toBeGreaterThan(100_000)
  await clock.advance(1_000)
  expect(storage.walSize()).toBe(0)
  expect((await peer.query("SELECT length(x) FROM t")).rows).toEqual([[100_000n]])
})

test("of two stalled streams that keep the WAL above its limit the older one ends first", async () => {
  await using at = await TestService.start({ walBytes: 8 * 1024 * 1024, firstBatchBytes: 1, batchBytes: 1 })
  const [writer, reader] = [await at.connect(), await at.connect()]
  await writer.exec("CREATE TABLE t(x)")
  await writer.exec("INSERT INTO t VALUES(1),(2),(3),(4),(5),(6)")
  const stream = () => reader.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
  const older = stream()
  await settle(reader)
  await writer.exec("INSERT INTO t VALUES(7)")
  const newer = stream()
  await settle(reader)
  for (let i = 0; i < 12; i++) {
    expect((await writer.exec("INSERT INTO t VALUES(zeroblob(1000000))")).error).toBeUndefined()
  }
  for (const { answer } of [older, newer]) expect((await answer).error).toMatchObject({ code: "aborted" })
  const ended = reader.log.filter(({ body }) => body.case === "error").map(({ id }) => id)
  expect(ended).toEqual([older.id, newer.id])
})

test("a dump holds no commit that is not durable yet", async () => {
  const storage = new OpenStorage()
  await using at = await TestService.start({}, { storage })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  const before = storage.walFlushes
  void peer.exec("INSERT INTO t VALUES(1)")
  // Between the commit and the flush of its group.
  await new Promise<void>(macrotask)
  const { tip } = await at.management.dump(at.databaseId, async () => "test:")
  expect({ tip, flushes: storage.walFlushes - before }).toEqual({ tip: 2, flushes: 1 })
})

test("under writers in turn and readers that always overlap, the WAL stays within its limit and one commit", async () => {
  const storage = new OpenStorage()
  const walBytes = 6 * 1024 * 1024
  await using at = await TestService.start({ walBytes }, { storage })
  const writers = [await at.connect(), await at.connect(), await at.connect()]
  const readers = [await at.connect(), await at.connect()]
  await writers[0]?.exec("CREATE TABLE t(x)")
  await writers[0]?.exec(
    "INSERT INTO t SELECT randomblob(20000) FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]')",
  )
  let most = 0
  let over = false
  const read = async (reader: (typeof readers)[number]) => {
    const codes = new Set<string>()
    while (!over) {
      // Each takes its rows at once, and the next begins before the other one's has ended.
      const { error } = await reader.query("SELECT a.x FROM t a, t b LIMIT 300")
      if (error) codes.add(error.code)
    }
    return [...codes]
  }
  const reading = readers.map(read)
  // Transactions that queue up for the turn, so that it is never free.
  const written = await Promise.all(
    writers.map(async (writer) => {
      let done = 0
      for (let i = 0; i < 25; i++) {
        const { error } = await writer.begin()
        expect(error).toBeUndefined()
        await writer.exec("INSERT INTO t VALUES(zeroblob(500000))")
        expect((await writer.commit()).error).toBeUndefined()
        done++
        most = Math.max(most, storage.walSize())
      }
      return done
    }),
  )
  over = true
  for (const codes of await Promise.all(reading)) expect(["", "aborted"]).toContain(codes.join())
  expect(written).toEqual([25, 25, 25])
  expect(most).toBeLessThan(walBytes + 2 * 1024 * 1024)
  expect((await writers[0]?.query("SELECT count(*) FROM t"))?.rows).toEqual([[90n]])
})

test("a stream that takes its rows and still is in the way for too long ends, and the writers go on", async () => {
  const storage = new OpenStorage()
  const clock = new HandClock()
  await using at = await TestService.start({ walBytes: 5 * 1024 * 1024 }, { storage, clock })
  const [writer, other, reader] = [await at.connect(), await at.connect(), await at.connect()]
  await writer.exec("CREATE TABLE t(x)")
  await writer.exec("INSERT INTO t VALUES(1)")
  const endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c, t"
  const stream = reader.request({ case: "query", value: { sql: endless } }, { credits: [1_000_000] })
  await expect.poll(() => reader.kinds(stream.id)).toContain("columnBatch")
  for (let i = 0; i < 6; i++) await writer.exec("INSERT INTO t VALUES(zeroblob(1000000))")
  // Above the limit nobody writes until the stream has had its time.
  const waiting = other.exec("INSERT INTO t VALUES(1)")
  await new Promise((resolve) => setTimeout(resolve, 50))
  await clock.advance(2_000)
  expect((await stream.answer).error).toMatchObject({
    code: "aborted",
    message: expect.stringContaining("for too long"),
  })
  expect((await waiting).error).toBeUndefined()
  expect(storage.walSize()).toBeLessThan(1024 * 1024)
})

test("a transaction larger than the limit of the WAL works, and leaves a small one", async () => {
  const storage = new OpenStorage()
  const clock = new HandClock()
  await using at = await TestService.start({ walBytes: 5 * 1024 * 1024 }, { storage, clock })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await peer.begin()
  for (let i = 0; i < 20; i++) await peer.exec("INSERT INTO t VALUES(zeroblob(1000000))")
  await peer.commit()
  expect((await peer.query("SELECT sum(length(x)) FROM t")).rows).toEqual([[20_000_000n]])
  expect(storage.walSize()).toBe(0)
})

test("a WAL that a transaction kept from being emptied at rest is emptied after it", async () => {
  const storage = new OpenStorage()
  const clock = new HandClock()
  await using at = await TestService.start({}, { storage, clock })
  const [peer, holder] = [await at.connect(), await at.connect()]
  await peer.exec("CREATE TABLE t(x)")
  await holder.begin()
  await clock.advance(3_000)
  expect(storage.walSize()).toBeGreaterThan(0)
  await holder.rollback()
  await clock.advance(2_000)
  expect(storage.walSize()).toBe(0)
})
