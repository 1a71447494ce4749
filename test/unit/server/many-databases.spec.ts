import { expect, test } from "@playwright/test"
import { Service } from "../../../src/server/service.ts"
import { loadEngine } from "../../../src/sqlite/load.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import type { DatabaseFiles, Storage } from "../../../src/storage/storage.ts"
import { TestService, wasmBytes } from "../../fixtures/service.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

/** Memory storage that counts what is open. */
class CountedStorage extends MemoryStorage {
  readonly openPaths = new Set<string>()
  opened = 0
  metaReads = 0

  override async create(...args: Parameters<Storage["create"]>) {
    return this.#count(await super.create(...args))
  }

  override async open(...args: Parameters<Storage["open"]>) {
    this.opened++
    return this.#count(await super.open(...args))
  }

  override async readMeta(...args: Parameters<Storage["readMeta"]>) {
    this.metaReads++
    return super.readMeta(...args)
  }

  #count(files: DatabaseFiles): DatabaseFiles {
    this.openPaths.add(files.path)
    return { ...files, close: () => void this.openPaths.delete(files.path) }
  }
}

test("an idle database lets its files go under its sockets, with an empty WAL, and the next request opens them", async () => {
  const storage = new CountedStorage()
  const clock = new HandClock()
  await using at = await TestService.start({ databaseIdleMs: 30_000 }, { storage, clock })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await clock.advance(29_000)
  expect((await peer.exec("INSERT INTO t VALUES(1)")).error).toBeUndefined()
  await clock.advance(29_000)
  expect(storage.openPaths.size).toBe(1)
  await clock.advance(2_000)
  expect(storage.openPaths.size).toBe(0)
  const [, wal] = await storage.rawFiles("devkey", at.databaseId)
  expect(wal?.content.size).toBe(0)
  expect(await at.management.get(at.databaseId)).toMatchObject({ tip: 2 })
  expect(storage.openPaths.size).toBe(0)
  // Several requests at once open it once, and keep their order.
  const opened = storage.opened
  const [write, read] = await Promise.all([peer.exec("INSERT INTO t VALUES(2)"), peer.query("SELECT count(*) FROM t")])
  expect([write.error, read.rows]).toEqual([undefined, [[2n]]])
  expect(storage.opened - opened).toBe(1)
  expect(await at.management.get(at.databaseId)).toMatchObject({ tip: 3 })
})

test("a transaction, a stream and a dump keep a database open, however long it is quiet", async () => {
  const storage = new CountedStorage()
  const clock = new HandClock()
  const limits = { databaseIdleMs: 1_000, firstBatchBytes: 1, batchBytes: 1 }
  await using at = await TestService.start(limits, { storage, clock })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await peer.exec("INSERT INTO t VALUES(1),(2),(3),(4),(5),(6)")
  await peer.begin()
  await clock.advance(5_000)
  expect(storage.openPaths.size).toBe(1)
  await peer.commit()
  const stream = peer.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
  await clock.advance(5_000)
  expect(storage.openPaths.size).toBe(1)
  peer.send(stream.id, { case: "credit", value: { batches: 100 } })
  expect((await stream.answer).rows).toHaveLength(6)
  await clock.advance(5_000)
  expect(storage.openPaths.size).toBe(0)
})

test("a deletion, a close and a second socket find a database whose files were let go", async () => {
  const storage = new CountedStorage()
  const clock = new HandClock()
  await using at = await TestService.start({ databaseIdleMs: 1_000 }, { storage, clock })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await clock.advance(3_000)
  expect(storage.openPaths.size).toBe(0)
  const second = await at.connect()
  expect((await second.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
  await clock.advance(3_000)
  expect(storage.openPaths.size).toBe(0)
  await at.management.delete(at.databaseId)
  expect(await peer.closed).toMatchObject({ code: 1008 })
  expect(await storage.databases("devkey")).toEqual([])
})

test("300 databases in rotation, each with a socket that stays, keep at most the allowed number open", async () => {
  const storage = new CountedStorage()
  await using at = await TestService.start({ openDatabases: 8 }, { storage })
  const ids = [at.databaseId]
  while (ids.length < 300) ids.push((await at.management.create()).databaseId)
  const peers = await Promise.all(ids.map((id) => at.connect(id)))
  for (const peer of peers) await peer.exec("CREATE TABLE t(x)")
  for (const peer of peers) expect((await peer.exec("INSERT INTO t VALUES(1)")).error).toBeUndefined()
  for (const peer of peers) expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[1n]])
  expect(storage.openPaths.size).toBeLessThanOrEqual(8)
})

test("whoever connects to one database of 300 reads that one only", async () => {
  const storage = new CountedStorage()
  const first = await TestService.start({}, { storage })
  for (let i = 1; i < 300; i++) await first.management.create()
  await first.service.close()
  const engine = await loadEngine({ wasm: wasmBytes(), storage })
  storage.metaReads = 0
  const service = await Service.open({ engine, storage })
  expect(await service.management("devkey").get(first.databaseId)).toMatchObject({ tip: 0 })
  // The others are read one by one behind it.
  expect(storage.metaReads).toBeLessThan(10)
  expect((await service.management("devkey").list({ pageSize: 1000 })).databases).toHaveLength(300)
  expect(storage.metaReads).toBe(300)
  await service.close()
})
