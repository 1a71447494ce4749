import { expect, test } from "@playwright/test"
import { CloseCode } from "../../../src/link/link.ts"
import { Service } from "../../../src/server/service.ts"
import { loadEngine } from "../../../src/sqlite/load.ts"
import { TestService, wasmBytes } from "../../fixtures/service.ts"

const seconds = () => Math.floor(Date.now() / 1000)

test("CreateDatabase: id, region, times", async () => {
  await using at = await TestService.start()
  const { management } = at
  const before = seconds()
  const { databaseId, expiresAt } = await management.create({ region: "eu", ttlSeconds: 60 })
  expect(databaseId).toMatch(/^DB_[23456789A-HJ-NP-Za-km-z]{12}$/)
  expect(expiresAt - before).toBeGreaterThanOrEqual(60)
  expect(expiresAt - before).toBeLessThanOrEqual(62)
  const info = await management.get(databaseId)
  expect(info).toMatchObject({ databaseId, region: "eu", expiresAt, tip: 0 })
  expect(info.createdAt - before).toBeLessThanOrEqual(2)
  const plain = await management.create()
  expect(plain.expiresAt).toBe(0)
  expect((await management.get(plain.databaseId)).region).toBe("local")
})

test("C49 a time to live is a whole number of at least 0, of either kind, and is capped", async () => {
  await using at = await TestService.start({ ttlCapSeconds: 1000 })
  const { management } = at
  const now = seconds()
  for (const ttlSeconds of [60, 60n])
    expect((await management.create({ ttlSeconds })).expiresAt - now).toBeLessThanOrEqual(62)
  expect((await management.create({ ttlSeconds: 2n ** 62n })).expiresAt - now).toBeLessThanOrEqual(1002)
  for (const ttlSeconds of [1.5, -1, -1n, Number.NaN]) {
    await expect(management.create({ ttlSeconds })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("ttl_seconds"),
    })
  }
})

test("C52 paging returns each surviving id once, newest last, whatever is deleted between pages", async () => {
  await using at = await TestService.start()
  const { management } = at
  const ids = [at.databaseId]
  for (let i = 0; i < 6; i++) ids.push((await management.create()).databaseId)
  const first = await management.list({ pageSize: 3 })
  expect(first.databases.map((info) => info.databaseId)).toEqual(ids.slice(0, 3))
  await management.delete(ids[2] as string)
  await management.delete(ids[4] as string)
  const second = await management.list({ pageSize: 3, pageToken: first.nextPageToken })
  expect(second.databases.map((info) => info.databaseId)).toEqual([ids[3], ids[5], ids[6]])
  expect(second.nextPageToken).toBe("")
  for (const pageSize of [0, 1e9]) expect((await management.list({ pageSize })).databases.length).toBe(5)
  for (const bad of [{ pageSize: -1 }, { pageSize: 1.5 }, { pageToken: "made up" }, { pageToken: "YWZ0ZXI6eA" }]) {
    await expect(management.list(bad)).rejects.toMatchObject({ code: "invalid_argument" })
  }
})

test("C63 an id that was not made here is not_found; one that cannot be an id invalid_argument", async () => {
  await using at = await TestService.start()
  const strange = [
    "../x",
    "a/b",
    "a\\b",
    ".",
    "nul\u0000l",
    "日本語",
    "😀",
    "x-journal",
    "__proto__",
    "?vfs=memdb",
    "%2e%2e%2f",
    "DB_222222222222",
  ]
  for (const id of strange) {
    await expect(at.management.get(id), id).rejects.toMatchObject({ code: "not_found" })
    await expect(at.management.delete(id), id).rejects.toMatchObject({ code: "not_found" })
    await expect(
      at.management.dump(id, async () => ""),
      id,
    ).rejects.toMatchObject({ code: "not_found" })
  }
  for (const id of ["", "x".repeat(129)]) {
    await expect(at.management.get(id)).rejects.toMatchObject({ code: "invalid_argument" })
  }
  expect((await at.management.list()).databases.length).toBe(1)
})

test("projects never see each other's databases", async () => {
  await using at = await TestService.start({}, { keys: { devkey: "secret", other: "secret2" } })
  const theirs = at.service.management("other")
  const { databaseId } = await theirs.create()
  await expect(at.management.get(databaseId)).rejects.toMatchObject({ code: "not_found" })
  await expect(at.management.delete(databaseId)).rejects.toMatchObject({ code: "not_found" })
  expect((await theirs.list()).databases.map((info) => info.databaseId)).toEqual([databaseId])
  expect((await at.management.list()).databases.map((info) => info.databaseId)).toEqual([at.databaseId])
})

test("DeleteDatabase erases the bytes; open sockets get not_found on each live request, then 1008", async () => {
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1 })
  const peer = await at.connect()
  const other = await at.connect((await at.management.create()).databaseId)
  await peer.exec("CREATE TABLE t(x)")
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
  const stream = peer.request({ case: "query", value: { sql: endless } }, { credits: [] })
  await peer.begin()
  await at.management.delete(at.databaseId)
  expect((await stream.answer).error?.code).toBe("not_found")
  expect(await peer.closed).toMatchObject({ code: CloseCode.policy })
  expect(await at.storage.databases("devkey")).not.toContain(at.databaseId)
  await expect(at.management.delete(at.databaseId)).rejects.toMatchObject({ code: "not_found" })
  await expect(at.management.get(at.databaseId)).rejects.toMatchObject({ code: "not_found" })
  expect((await other.query("SELECT 1")).rows).toEqual([[1n]])
})

test("an expired database is gone at its time and not at the next call", async () => {
  await using at = await TestService.start()
  const { databaseId } = await at.management.create({ ttlSeconds: 1 })
  const peer = await at.connect(databaseId)
  expect(await peer.closed).toMatchObject({ code: CloseCode.policy })
  expect(await at.storage.databases("devkey")).toEqual([at.databaseId])
  await expect(at.management.get(databaseId)).rejects.toMatchObject({ code: "not_found" })
})

test("a time to live beyond what a timer holds does not fire at once", async () => {
  await using at = await TestService.start()
  const { databaseId } = await at.management.create({ ttlSeconds: 90 * 86_400 })
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect((await at.management.get(databaseId)).databaseId).toBe(databaseId)
})

test("the catalog survives a restart: attributes, order, tips without opening, and dirty databases recovered", async () => {
  const first = await TestService.start()
  const { storage } = first
  const written = await first.management.create({ region: "eu", ttlSeconds: 500 })
  const peer = await first.connect(written.databaseId)
  await peer.exec("CREATE TABLE t(x)")
  await peer.exec("INSERT INTO t VALUES(1)")
  const before = await first.management.list()
  await first.service.close()

  const engine = await loadEngine({ wasm: wasmBytes(), storage })
  await using at = await TestService.start({}, { storage, engine })
  const after = await at.management.list()
  expect(after.databases.slice(0, 2)).toEqual(before.databases)
  expect(after.databases[1]).toMatchObject({ region: "eu", tip: 2, expiresAt: written.expiresAt })
})

test("an idempotency key never creates twice: at once, later, after a restart, or after a deletion", async () => {
  const first = await TestService.start()
  const { storage, management } = first
  const [a, b] = await Promise.all([management.create({ requestId: "k" }), management.create({ requestId: "k" })])
  expect(b).toEqual(a)
  expect(await management.create({ requestId: "k", region: "eu" })).toEqual(a)
  expect((await management.create({ requestId: "l" })).databaseId).not.toBe(a.databaseId)
  await first.service.close()

  const engine = await loadEngine({ wasm: wasmBytes(), storage })
  const service = await Service.open({ engine, storage })
  const again = service.management("devkey")
  expect(await again.create({ requestId: "k" })).toEqual(a)
  await again.delete(a.databaseId)
  expect(await again.create({ requestId: "k" })).toEqual(a)
  await service.close()
})

test("the number of databases of a project is bounded", async () => {
  await using at = await TestService.start({ databases: 2 })
  await at.management.create()
  await expect(at.management.create()).rejects.toMatchObject({ code: "resource_exhausted" })
})

test("watch tells each durable tip, of every socket's commits and of nothing else", async () => {
  await using at = await TestService.start()
  const tips: number[] = []
  const stop = await at.service.watch("devkey", at.databaseId, (tip) => tips.push(tip))
  await expect(at.service.watch("devkey", "DB_222222222222", () => {})).rejects.toMatchObject({ code: "not_found" })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(x)")
  await b.exec("INSERT INTO t VALUES(1)")
  await b.exec("UPDATE t SET x = 2 WHERE 0")
  await a.begin()
  await a.exec("INSERT INTO t VALUES(2)")
  await a.rollback()
  await a.begin()
  await a.exec("INSERT INTO t VALUES(2)")
  await a.exec("INSERT INTO t VALUES(3)")
  await a.commit()
  expect(tips).toEqual([1, 2, 3])
  stop()
  await a.exec("DELETE FROM t")
  expect(tips).toEqual([1, 2, 3])
})
