import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { createTable, insert, openService, recordWorkers, values } from "./service-page.ts"

test.beforeEach(async ({ page, site }) => {
  await recordWorkers(page)
  await openHarness(page, site.plain)
})

test("a worker that is stuck inside one function is ended, and everything connects again", async ({ page }) => {
  const status = await openService(page, { limits: { statementMs: 500 } })
  const id = await createTable(page)
  await insert(page, 1)
  const stuck = await page.evaluate(async (id) => {
    const other = await window.db.connect(id)
    // Hours inside one opcode, where no progress handler is asked.
    const sql = "SELECT instr(zeroblob(50000000), CAST(zeroblob(25000000) || x'01' AS BLOB))"
    const codeOf = (call: Promise<unknown>) => call.catch((error: { code: string }) => error.code)
    const calls = [codeOf(window.connection.exec(sql))]
    // Ports keep no order among each other: by now the worker is inside it.
    await new Promise((resolve) => setTimeout(resolve, 200))
    calls.push(codeOf(other.exec("INSERT INTO t VALUES(2)")), codeOf(window.db.getDatabase(id)))
    return Promise.all(calls)
  }, id)
  expect(stuck).toEqual(["disconnected", "disconnected", "disconnected"])
  await insert(page, 3)
  expect(await values(page)).toEqual([1, 3])
  expect(await page.evaluate(() => window.workersMade.length)).toBe(2)
  await expect.poll(() => page.workers().length).toBe(1)
  expect(await page.evaluate(() => window.db.status)).toMatchObject({ storage: status.storage, role: status.role })
  expect(await page.evaluate(() => window.failures)).toEqual([])
})

test("a maintenance statement that runs on within its own limit is left alone", async ({ page }) => {
  await openService(page, { limits: { statementMs: 500, maintenanceMs: 11_000 } })
  await createTable(page)
  const code = await page.evaluate(async () => {
    const rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x FROM c"
    await window.connection.exec(`INSERT INTO t ${rows}`)
    // About a millisecond a row, so the limit ends it.
    const index = "CREATE INDEX i ON t(length(hex(zeroblob(v + 400000))))"
    return window.connection.exec(index).catch((error: { code: string }) => error.code)
  })
  expect(code).toBe("deadline_exceeded")
  expect(await page.evaluate(() => window.workersMade.length)).toBe(1)
})

test("a worker that dies is started again, and what was open goes on", async ({ page }) => {
  await openService(page)
  const id = await createTable(page)
  await insert(page, 1)
  const result = await page.evaluate(async (id) => {
    const { db, connection } = window
    const tips: number[] = []
    const watch = db.watch(id, (tip) => tips.push(tip))
    const link = await db.openLink()
    const closed = new Promise<unknown>((resolve) => {
      link.onclose = resolve
      link.onframe = () => {}
    })
    const tx = await connection.begin()
    await tx.exec("INSERT INTO t VALUES(100)")
    window.workersMade[0]?.terminate()
    const close = await closed
    const codeOf = (call: Promise<unknown>) =>
      call.then(
        () => "done",
        (error: { code: string }) => error.code,
      )
    const commit = await codeOf(tx.commit())
    await connection.exec("INSERT INTO t VALUES(2)")
    const { tip } = await db.getDatabase(id)
    while (tips.at(-1) !== tip) await new Promise((resolve) => setTimeout(resolve, 10))
    watch[Symbol.dispose]()
    await connection.exec("INSERT INTO t VALUES(3)")
    return { close, commit, tips, tip }
  }, id)
  expect(result.close).toMatchObject({ code: 1011 })
  expect(result.commit).toBe("disconnected")
  expect(result.tip).toBe(3)
  expect(result.tips).toEqual([...new Set(result.tips)].sort((a, b) => a - b))
  expect(await values(page)).toEqual([1, 2, 3])
  expect(await page.evaluate(() => window.workersMade.length)).toBe(2)
  expect(await page.evaluate(() => window.failures)).toEqual([])
})

test("a call under which the worker dies rejects with disconnected, and the next one is answered", async ({ page }) => {
  await openService(page)
  const result = await page.evaluate(async () => {
    const { db } = window
    const inFlight = Promise.all(
      [db.createDatabase(), db.listDatabases(), db.fetch("/twirp/x")].map((call) =>
        (call as Promise<unknown>).then(
          () => "done",
          (error: { code: string }) => error.code,
        ),
      ),
    )
    // The calls leave a few turns from now, and this worker will not hear them.
    const { postMessage } = Worker.prototype
    Worker.prototype.postMessage = () => {}
    await new Promise((resolve) => setTimeout(resolve, 50))
    Worker.prototype.postMessage = postMessage
    window.workersMade[0]?.terminate()
    const codes = await inFlight
    const { databaseId } = await db.createDatabase()
    return { codes, databaseId }
  })
  expect(result.codes).toEqual(["disconnected", "disconnected", "disconnected"])
  expect(result.databaseId).toMatch(/^DB_/)
})

test("memory that died with its worker is not passed over in silence", async ({ page }) => {
  await openService(page, { storage: "memory" })
  const id = await createTable(page)
  const result = await page.evaluate(async (id) => {
    window.workersMade[0]?.terminate()
    const changed = new Promise<string | undefined>((resolve) => {
      window.db.addEventListener("statuschange", () => {
        if (window.db.status.reason) resolve(window.db.status.reason)
      })
    })
    return {
      reason: await changed,
      get: await window.db.getDatabase(id).catch((error: { code: string }) => error.code),
    }
  }, id)
  expect(result.reason).toContain("memory")
  expect(result.get).toBe("not_found")
})
