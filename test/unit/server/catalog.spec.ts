import { expect, test } from "@playwright/test"
import { CloseCode } from "../../../src/link/link.ts"
import type { Clock } from "../../../src/server/clock.ts"
import { twirpFailure } from "../../../src/server/twirp.ts"
import { MetaFile } from "../../../src/sqlite/meta.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import type { Storage } from "../../../src/storage/storage.ts"
import { AgentDBError } from "../../../src/wire/errors.ts"
import { TestService, token } from "../../fixtures/service.ts"
import { settle } from "../../fixtures/wire-peer.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

const day = 86_400_000

/** Counts what is opened. */
class CountingStorage extends MemoryStorage {
  opened = 0

  override open(...args: Parameters<Storage["open"]>) {
    this.opened++
    return super.open(...args)
  }
}

/** Many databases that were closed cleanly and cannot be opened. */
class FullShelf extends MemoryStorage {
  readonly #count: number

  constructor(count: number) {
    super()
    this.#count = count
  }

  override async projects() {
    return ["devkey"]
  }

  override async databases() {
    return Array.from({ length: this.#count }, (_, i) => `DB_${String(i).padStart(12, "2")}`)
  }

  override async readMeta(_project: string, id: string) {
    const file = new MemoryFile()
    const order = Number(id.slice(3)) + 1
    MetaFile.create(file, { region: "local", createdAt: 1_700_000_000, expiresAt: 0, order }).update({ tip: 5 })
    const bytes = new Uint8Array(file.getSize())
    file.read(bytes, { at: 0 })
    return bytes
  }

  override async open(): Promise<never> {
    throw new Error("nobody may open it")
  }
}

test("a page has 100 databases by default, as many as asked for, and never more than 1,000", async () => {
  await using at = await TestService.start({}, { storage: new FullShelf(1_500) })
  const sizeOf = async (pageSize: number) => (await at.management.list({ pageSize })).databases.length
  expect((await at.management.list()).databases).toHaveLength(100)
  expect(await Promise.all([0, 1, 999, 1_000, 1_001, 2 ** 31 - 1].map(sizeOf))).toEqual([
    100, 1, 999, 1_000, 1_000, 1_000,
  ])
})

test("List and Get tell the tip of databases that were closed cleanly without opening them", async () => {
  const storage = new CountingStorage()
  const first = await TestService.start({}, { storage })
  const peer = await first.connect()
  for (const sql of ["CREATE TABLE t(x)", "INSERT INTO t VALUES(1)", "DELETE FROM t"]) await peer.exec(sql)
  const pages = (await peer.query("PRAGMA page_count")).rows
  await first.service.close()
  storage.opened = 0
  await using at = await TestService.start({}, { storage })
  expect(await at.management.get(first.databaseId)).toMatchObject({ tip: 3 })
  expect((await at.management.list()).databases.map(({ tip }) => tip)).toEqual([3, 0])
  expect(storage.opened).toBe(0)
  // Nor does the tip leave a trace in the file.
  const again = await at.connect(first.databaseId)
  expect((await again.query("PRAGMA page_count")).rows).toEqual(pages)
  expect((await again.query("SELECT name FROM sqlite_schema")).rows).toEqual([["t"]])
  const fresh = await at.connect()
  expect((await fresh.query("PRAGMA page_count")).rows).toEqual([[1n]])
  expect((await fresh.query("SELECT count(*) FROM sqlite_schema")).rows).toEqual([[0n]])
})

test("an idempotency key is kept for 24 hours, also over a restart, and then makes a new database", async () => {
  const clock = new HandClock()
  const storage = new MemoryStorage()
  const first = await TestService.start({}, { storage, clock })
  const made = await first.management.create({ requestId: "key" })
  await clock.advance(day - 60_000)
  expect(await first.management.create({ requestId: "key" })).toEqual(made)
  await first.service.close()
  const second = await TestService.start({}, { storage, clock })
  expect(await second.management.create({ requestId: "key" })).toEqual(made)
  // Another project's key of the same name is another key.
  expect((await second.service.management("other").create({ requestId: "key" })).databaseId).not.toBe(made.databaseId)
  await clock.advance(120_000)
  await second.service.close()
  await using third = await TestService.start({}, { storage, clock })
  expect((await third.management.create({ requestId: "key" })).databaseId).not.toBe(made.databaseId)
})

test("a creation that failed made nothing, so its key may be used again", async () => {
  await using at = await TestService.start({ databases: 1 })
  const { management } = at
  await expect(management.create({ requestId: "key" })).rejects.toMatchObject({ code: "resource_exhausted" })
  await management.delete(at.databaseId)
  const made = await management.create({ requestId: "key" })
  expect(await management.create({ requestId: "key" })).toEqual(made)
})

test("a time to live is capped at ten years by default", async () => {
  const clock = new HandClock()
  await using at = await TestService.start({}, { clock })
  const now = Math.floor(clock.now() / 1000)
  expect((await at.management.create({ ttlSeconds: 2n ** 62n })).expiresAt - now).toBe(10 * 365 * 86_400)
  expect((await at.management.create({ ttlSeconds: 3_600 })).expiresAt - now).toBe(3_600)
})

test("using a database never extends its life, and what expires is gone with its sockets and its bytes", async () => {
  const clock = new HandClock()
  await using at = await TestService.start({}, { clock })
  const { databaseId, expiresAt } = await at.management.create({ ttlSeconds: 100 })
  const peer = await at.connect(databaseId)
  await peer.exec("CREATE TABLE t(x)")
  await clock.advance(99_000)
  await peer.exec("INSERT INTO t VALUES(1)")
  expect(await at.management.get(databaseId)).toMatchObject({ expiresAt })
  await peer.begin()
  const other = await at.connect(databaseId)
  const waiting = other.exec("DELETE FROM t")
  await settle(other)
  await clock.advance(2_000)
  expect((await waiting).error?.code).toBe("not_found")
  for (const { closed } of [peer, other]) expect(await closed).toMatchObject({ code: CloseCode.policy })
  expect(await at.storage.databases("devkey")).toEqual([at.databaseId])
  const late = at.socket()
  expect((await late.hello(token(), databaseId)).error?.code).toBe("not_found")
})

test("a timer that fires early deletes nothing: only what the clock says at that moment", async () => {
  const hand = new HandClock()
  const armed: (() => void)[] = []
  const clock: Clock = {
    now: () => hand.now(),
    after(ms, task) {
      armed.push(task)
      return hand.after(ms, task)
    },
  }
  await using at = await TestService.start({}, { clock })
  armed.length = 0
  const { databaseId } = await at.management.create({ ttlSeconds: 1_000 })
  const early = [...armed]
  expect(early.length).toBeGreaterThan(0)
  for (const task of early) task()
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await at.management.get(databaseId)).databaseId).toBe(databaseId)
  expect(await at.storage.databases("devkey")).toContain(databaseId)
  await hand.advance(1_001_000)
  await expect.poll(() => at.storage.databases("devkey")).toEqual([at.databaseId])
})

test("a deletion ends each live request with one not_found: what waits, what is queued, what streams, what is unsaid", async () => {
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1 })
  const [peer, holder, idle] = [await at.connect(), await at.connect(), await at.connect()]
  await peer.exec("CREATE TABLE t(x)")
  await holder.begin()
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
  const live = [
    peer.request({ case: "query", value: { sql: endless } }, { credits: [] }),
    peer.request({ case: "exec", value: { sql: "INSERT INTO t VALUES(1)" } }),
    peer.request({ case: "query", value: { sql: "SELECT 1" } }),
    peer.request({ case: "begin", value: {} }),
  ]
  await settle(peer)
  await at.management.delete(at.databaseId)
  for (const { id, answer } of live) {
    expect((await answer).error?.code).toBe("not_found")
    expect(peer.kinds(id).filter((kind) => kind === "error")).toHaveLength(1)
  }
  for (const { closed } of [peer, holder, idle]) expect(await closed).toMatchObject({ code: CloseCode.policy })
  expect(idle.log.map(({ body }) => body.case)).toEqual(["helloOk"])
  // The close is the last thing that is said.
  expect(peer.log.at(-1)?.body.case).toBe("error")
})

test("a database of another project can be neither dumped nor connected to", async () => {
  await using at = await TestService.start({}, { keys: { devkey: "secret", other: "secret2" } })
  const { databaseId } = await at.service.management("other").create()
  await expect(at.management.dump(databaseId, async () => "")).rejects.toMatchObject({ code: "not_found" })
  await expect(at.connect(databaseId)).rejects.toThrow("not_found")
})

test("by default a dump can be had for 15 minutes, and its file is erased at that time and not before", async () => {
  const clock = new HandClock()
  await using at = await TestService.start({}, { clock })
  const dump = await at.management.dump(at.databaseId, async () => "test:")
  expect(dump.expiresAt - Math.floor(clock.now() / 1000)).toBe(900)
  const [kept] = await at.storage.dumps()
  expect(kept?.name).toContain(String(dump.expiresAt))
  await clock.advance(899_000)
  expect(await at.storage.dumps()).toHaveLength(1)
  await clock.advance(2_000)
  expect(await at.storage.dumps()).toHaveLength(0)
})

test("each code has its HTTP status, and an error of the SQL engine is internal", () => {
  const statuses = {
    canceled: 408,
    deadline_exceeded: 408,
    invalid_argument: 400,
    malformed: 400,
    out_of_range: 400,
    not_found: 404,
    bad_route: 404,
    already_exists: 409,
    aborted: 409,
    permission_denied: 403,
    unauthenticated: 401,
    resource_exhausted: 429,
    failed_precondition: 412,
    unimplemented: 501,
    unavailable: 503,
    internal: 500,
    unknown: 500,
    data_loss: 500,
  }
  for (const [code, status] of Object.entries(statuses)) {
    const answer = twirpFailure(new AgentDBError(code, "why"))
    expect([answer.status, answer.headers], code).toEqual([status, { "content-type": "application/json" }])
    expect(JSON.parse(new TextDecoder().decode(answer.body)), code).toEqual({ code, msg: "why" })
  }
  for (const error of [new AgentDBError("SQLITE_FULL", "why"), new Error("why")]) {
    const answer = twirpFailure(error)
    expect([answer.status, JSON.parse(new TextDecoder().decode(answer.body))]).toEqual([
      500,
      { code: "internal", msg: "why" },
    ])
  }
})
