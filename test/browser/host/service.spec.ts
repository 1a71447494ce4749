import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { createTable, insert, openService, recordWorkers } from "./service-page.ts"

test.beforeEach(async ({ page, site }) => {
  await recordWorkers(page)
  await openHarness(page, site.plain)
})

test("databases are made, told of, listed and erased", async ({ page }) => {
  await openService(page)
  const result = await page.evaluate(async () => {
    const { db } = window
    const before = Date.now() / 1_000
    const forever = await db.createDatabase()
    const brief = await db.createDatabase({ region: "here", ttlSeconds: 60n })
    const info = await db.getDatabase(brief.databaseId)
    const first = await db.listDatabases({ pageSize: 1 })
    const second = await db.listDatabases({ pageSize: 1, pageToken: first.nextPageToken })
    await db.deleteDatabase(forever.databaseId)
    const codeOf = (call: Promise<unknown>) =>
      call.then(
        () => "done",
        (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
      )
    return {
      forever,
      info,
      lifeSeconds: brief.expiresAt - before,
      pages: [first.databases, second.databases].map((page) => page.map(({ databaseId }) => databaseId)),
      ids: [forever.databaseId, brief.databaseId],
      end: second.nextPageToken,
      deleted: await codeOf(db.getDatabase(forever.databaseId)),
      again: await codeOf(db.deleteDatabase(forever.databaseId)),
      fraction: await codeOf(db.createDatabase({ ttlSeconds: 1.5 })),
      negative: await codeOf(db.createDatabase({ ttlSeconds: -1 })),
    }
  })
  expect(result.forever).toEqual({ databaseId: expect.stringMatching(/^DB_/), expiresAt: 0 })
  expect(result.info).toMatchObject({ region: "here", tip: 0 })
  expect(result.lifeSeconds).toBeGreaterThan(55)
  expect(result.lifeSeconds).toBeLessThanOrEqual(61)
  expect(result.pages).toEqual(result.ids.map((id) => [id]))
  expect(result.end).toBe("")
  expect(result.deleted).toContain("not_found")
  expect(result.again).toContain("not_found")
  expect(result.fraction).toMatch(/invalid_argument: .*ttl/)
  expect(result.negative).toMatch(/invalid_argument: .*ttl/)
})

test("a dump is a file that the page can fetch, until it expires", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  await insert(page, 1)
  const result = await page.evaluate(async (id) => {
    const { db } = window
    const read = async (url: string) => new Uint8Array(await (await fetch(url)).arrayBuffer())
    const dump = await db.dumpDatabase(id)
    const bytes = await read(dump.downloadUrl)
    return {
      scheme: new URL(dump.downloadUrl).protocol,
      tip: dump.tip,
      leftSeconds: dump.expiresAt - Date.now() / 1_000,
      magic: new TextDecoder().decode(bytes.subarray(0, 15)),
      journal: [bytes[18], bytes[19]],
    }
  }, id)
  expect(result).toMatchObject({ scheme: "blob:", tip: 2, magic: "SQLite format 3", journal: [1, 1] })
  expect(result.leftSeconds).toBeGreaterThan(800)
})

test("a dump is gone when it expires", async ({ page }) => {
  await openService(page, { limits: { dumpUrlSeconds: 1 } })
  const id = await createTable(page)
  const url = await page.evaluate(async (id) => (await window.db.dumpDatabase(id)).downloadUrl, id)
  const isAlive = () =>
    page.evaluate(
      (url) =>
        fetch(url).then(
          () => true,
          () => false,
        ),
      url,
    )
  await expect.poll(isAlive, { timeout: 10_000 }).toBe(false)
})

test("fetch is the Twirp plane, whatever the origin, and adds no token", async ({ page }) => {
  await openService(page)
  const result = await page.evaluate(async () => {
    const { db } = window
    const read = async (response: Response) => ({
      status: response.status,
      type: response.headers.get("content-type"),
      body: await response.json(),
    })
    const url = "https://elsewhere.test/twirp/livekit.AgentDBService/ListDatabases"
    const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }
    const aborted = new AbortController()
    aborted.abort()
    return {
      noToken: await read(await db.fetch(url, json)),
      request: await read(await db.fetch(new Request(url, json))),
      get: await read(await db.fetch(url)),
      path: await read(await db.fetch("/somewhere/else", json)),
      aborted: await db.fetch(url, { ...json, signal: aborted.signal }).catch((error: Error) => error.name),
      invalid: await db.fetch(url, { body: "x" }).catch((error: Error) => error.name),
    }
  })
  expect(result.noToken).toMatchObject({ status: 401, type: "application/json", body: { code: "unauthenticated" } })
  expect(result.request).toEqual(result.noToken)
  expect(result.get).toMatchObject({ status: 404, body: { code: "bad_route" } })
  expect(result.path).toMatchObject({ status: 404, body: { code: "bad_route" } })
  expect(result.aborted).toBe("AbortError")
  expect(result.invalid).toBe("TypeError")
})

test("the service client works through fetch with a token of the same keys", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  const result = await page.evaluate(async (id) => {
    const { AgentDBServiceClient } = window.agentdbWeb
    const token = window.agentdbWeb.mintToken("devkey", "secret", Math.floor(Date.now() / 1_000))
    const client = new AgentDBServiceClient({
      url: "https://cloud.test",
      token,
      fetch: (input, init) => window.db.fetch(input, init),
    })
    const info = await client.getDatabase(id)
    const dump = await client.dumpDatabase(id)
    const { size } = await (await fetch(dump.downloadUrl)).blob()
    return { info, size }
  }, id)
  expect(result.info).toMatchObject({ databaseId: id, tip: 1 })
  expect(result.size).toBeGreaterThan(0)
})

test("a watch tells of each commit until it is disposed", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  const result = await page.evaluate(async (id) => {
    const { db, connection } = window
    const tips: number[] = []
    const until = async (tip: number) => {
      while (tips.at(-1) !== tip) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const watch = db.watch(id, (tip) => tips.push(tip))
    // A watch starts when the worker has it: calls are answered in order.
    await db.getDatabase(id)
    await connection.exec("INSERT INTO t VALUES(1)")
    await until(2)
    await connection.exec("UPDATE t SET v = 2 WHERE 0")
    const tx = await connection.begin()
    await tx.exec("INSERT INTO t VALUES(3)")
    await tx.rollback()
    await connection.exec("INSERT INTO t VALUES(4)")
    await until(3)
    watch[Symbol.dispose]()
    watch[Symbol.dispose]()
    await connection.exec("INSERT INTO t VALUES(5)")
    await db.getDatabase(id)
    return tips
  }, id)
  expect(result).toEqual([2, 3])
})

test("the project is the token's", async ({ page }) => {
  const result = await page.evaluate(async () => {
    const { mintToken, openAgentDB } = window.agentdbWeb
    const keys = { a: "secret-a", b: "secret-b" }
    const now = Math.floor(Date.now() / 1_000)
    const [forA, forB] = await Promise.all([
      openAgentDB({ keys }),
      openAgentDB({ keys, token: async () => mintToken("b", "secret-b", now) }),
    ])
    const { databaseId } = await forB.createDatabase()
    const connection = await forB.connect(databaseId)
    await connection.exec("CREATE TABLE t(v)")
    const codeOf = (call: Promise<unknown>) => call.catch((error: { code: string }) => error.code)
    const get = await codeOf(forA.getDatabase(databaseId))
    const connect = await codeOf(forA.connect(databaseId))
    const bad = await openAgentDB({ keys, token: "nonsense" })
    const refused = await codeOf(bad.connect(databaseId))
    return { get, connect, refused }
  })
  expect(result).toEqual({ get: "not_found", connect: "not_found", refused: "unauthenticated" })
})

test("a bare port speaks Wire frames", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  await insert(page, 7)
  const result = await page.evaluate(async (id) => {
    const { client, mintToken } = window.agentdbWeb
    const token = mintToken("devkey", "secret", Math.floor(Date.now() / 1_000))
    const connection = await client.connect({ link: window.db.port(), databaseId: id, token })
    const rows = await connection.query("SELECT v FROM t").all()
    await connection.close()
    return rows
  }, id)
  expect(result).toEqual([{ v: 7 }])
})
