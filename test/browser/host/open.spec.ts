import type { AgentDB } from "../../../src/index.ts"
import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { connectTo, createTable, insert, openService, recordWorkers, values } from "./service-page.ts"

test.beforeEach(async ({ page, site }) => {
  await recordWorkers(page)
  await openHarness(page, site.plain)
})

test.afterEach(async ({ page }) => {
  expect(await page.evaluate(() => window.failures)).toEqual([])
})

test("a name opened twice in a page is one service in one worker, and close is counted", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  await insert(page, 1)
  const second = await page.evaluate(async (id) => {
    const other = await window.agentdbWeb.openAgentDB()
    const connection = await other.connect(id)
    const rows = await connection.query("SELECT v FROM t").all()
    await window.db.close()
    await window.db.close()
    const workers = window.workersMade.length
    await connection.exec("INSERT INTO t VALUES(2)")
    const { tip } = await other.getDatabase(id)
    window.db = other
    return { rows, workers, tip }
  }, id)
  expect(second).toEqual({ rows: [{ v: 1 }], workers: 1, tip: 3 })
  expect(page.workers()).toHaveLength(1)
  await page.evaluate(() => window.db.close())
  await expect.poll(() => page.workers().length).toBe(0)
})

test("everything on a closed handle rejects with closed, and what it opened has ended", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  const codes = await page.evaluate(async (id) => {
    const { db, connection } = window
    // A second handle keeps the service up, so that it's the handle's own end that is seen.
    const other = await window.agentdbWeb.openAgentDB()
    const port = db.port()
    const ended = new Promise<unknown>((resolve) => {
      port.onmessage = (event) => resolve(event.data)
    })
    await Promise.all([db.close(), db.close()])
    const codeOf = (call: () => Promise<unknown>) =>
      call().then(
        () => "no error",
        (error: unknown) => (error as { code: string }).code,
      )
    const codes = await Promise.all([
      codeOf(() => db.createDatabase()),
      codeOf(() => db.getDatabase(id)),
      codeOf(() => db.listDatabases()),
      codeOf(() => db.deleteDatabase(id)),
      codeOf(() => db.dumpDatabase(id)),
      codeOf(() => db.connect(id)),
      codeOf(() => db.fetch("/twirp/x")),
      codeOf(() => db.requestPersistence()),
      codeOf(async () => db.port()),
      codeOf(async () => db.watch(id, () => {})),
      codeOf(() => connection.exec("SELECT 1")),
    ])
    const notice = await ended
    await other.close()
    return { codes, notice }
  }, id)
  expect(new Set(codes.codes)).toEqual(new Set(["closed"]))
  expect(codes.notice).toMatchObject({ close: { code: 1001 } })
})

/** Each starts on an empty store; 30 in the full form. */
const mounts = Number(process.env["AGENTDB_MOUNTS"] ?? 3)

for (let mount = 1; mount <= mounts; mount++) {
  test(`C66: mounted, unmounted and mounted again, as StrictMode does, on an empty store, ${mount}`, async ({
    page,
  }) => {
    const result = await page.evaluate(async () => {
      const { openAgentDB } = window.agentdbWeb
      const effect = () => {
        const opening = openAgentDB()
        const work = opening.then(async (db) => {
          const { databases } = await db.listDatabases()
          const databaseId = databases[0]?.databaseId ?? (await db.createDatabase()).databaseId
          const connection = await db.connect(databaseId)
          await connection.exec("CREATE TABLE IF NOT EXISTS t(v UNIQUE)")
          await connection.exec("INSERT OR IGNORE INTO t VALUES(1)")
          return connection
        })
        // The first one's is cut off by its cleanup.
        work.catch(() => {})
        return { opening, work, cleanup: () => opening.then((db) => db.close()) }
      }
      const first = effect()
      const gone = first.cleanup()
      const second = effect()
      const connection = await second.work
      await gone
      const rows = await connection.query("SELECT v FROM t").all()
      const { databases } = await (await second.opening).listDatabases()
      await second.cleanup()
      // Closed for good: this one starts a new worker over the same files.
      const third = await openAgentDB()
      const again = await third.connect(connection.databaseId)
      const later = await again.query("SELECT v FROM t").all()
      await third.close()
      return { rows, later, databases: databases.length, workers: window.workersMade.length }
    })
    expect(result).toEqual({ rows: [{ v: 1 }], later: [{ v: 1 }], databases: 1, workers: 2 })
  })
}

test("C66: five opens at once share one worker, and closing one ends no other", async ({ page }) => {
  const result = await page.evaluate(async () => {
    const { openAgentDB } = window.agentdbWeb
    const handles = await Promise.all([1, 2, 3, 4, 5].map(() => openAgentDB()))
    const [first, ...others] = handles as [AgentDB, ...AgentDB[]]
    const { databaseId } = await first.createDatabase()
    const connections = await Promise.all(handles.map((db) => db.connect(databaseId)))
    await connections[0]?.exec("CREATE TABLE IF NOT EXISTS t(v)")
    await Promise.all(connections.map((connection, v) => connection.exec("INSERT INTO t VALUES(?)", [v])))
    await first.close()
    const rows = await connections[4]?.query("SELECT count(*) AS n, sum(v) AS s FROM t").all()
    await Promise.all(others.map((db) => db.close()))
    return { rows, workers: window.workersMade.length }
  })
  expect(result).toEqual({ rows: [{ n: 5, s: 10 }], workers: 1 })
})

test("C67: a module that is edited ten times without closing its handle leaves one worker", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  const first = await page.evaluateHandle(() => window.agentdbWeb)
  const old = await page.evaluateHandle(() => window.db)
  for (let edit = 1; edit <= 10; edit++) {
    await page.evaluate(async (edit) => {
      const { src } = document.querySelector<HTMLScriptElement>("script[type=module]") as HTMLScriptElement
      await import(`${src}?edit=${edit}`)
    }, edit)
    expect(await page.evaluate((first) => first.openAgentDB !== window.agentdbWeb.openAgentDB, first)).toBe(true)
    await openService(page)
    await connectTo(page, id)
    await insert(page, edit)
  }
  await old.evaluate((db) => db.close())
  await insert(page, 11)
  expect(await values(page)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  expect(await page.evaluate(() => window.workersMade.length)).toBe(1)
  expect(page.workers()).toHaveLength(1)
})

test("names are services of their own", async ({ page }) => {
  const result = await page.evaluate(async () => {
    const { openAgentDB } = window.agentdbWeb
    const names = ["a", "A", "a/b", "é", "e\u0301", "../a"]
    const handles = await Promise.all(names.map((name) => openAgentDB({ name })))
    for (const db of handles) await db.createDatabase()
    const counts = await Promise.all(handles.map(async (db) => (await db.listDatabases()).databases.length))
    await Promise.all(handles.map((db) => db.close()))
    return counts
  })
  expect(result).toEqual([1, 1, 1, 1, 1, 1])
})

test("close does not wait for a statement that runs on", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  await insert(page, 1)
  const codes = await page.evaluate(async () => {
    const { db, connection } = window
    const forever = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    const running = connection.exec(forever).catch((error: { code: string }) => error.code)
    await new Promise((resolve) => setTimeout(resolve, 200))
    await Promise.all([db.close(), db.close()])
    return running
  })
  expect(codes).toBe("closed")
  await openService(page)
  await connectTo(page, id)
  expect(await values(page)).toEqual([1])
})
