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
