import { expect, openHarness, test } from "../fixtures/browser.ts"

test.beforeEach(async ({ page, site }) => {
  await openHarness(page, site.plain)
})

test("C35 without OPFS the service is memory and says why; rows come, a cancel ends a statement, close ends it", async ({
  page,
}) => {
  const seen = await page.evaluate(async () => {
    const agentdb = await window.agentdbWeb.openAgentDB()
    const told = await new Promise<unknown>((resolve) => {
      agentdb.addEventListener("statuschange", (event) => resolve((event as CustomEvent).detail))
    })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.exec("CREATE TABLE t(x)")
    const { tip } = await db.exec("INSERT INTO t VALUES (1), (2)")
    const rows = await db.query("SELECT x FROM t ORDER BY x").all()
    const controller = new AbortController()
    const endless = db
      .query("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c", [], {
        signal: controller.signal,
      })
      .all()
      .then(
        () => "ended",
        ({ code }: { code: string }) => code,
      )
    setTimeout(() => controller.abort(), 300)
    const cancelled = await endless
    const after = await db.query("SELECT count(*) AS n FROM t").first()
    const { status } = agentdb
    await agentdb.close()
    const closed = await db.exec("INSERT INTO t VALUES (3)").then(
      () => "ran",
      ({ code }: { code: string }) => code,
    )
    return { told, status, tip, rows, cancelled, after, closed }
  })
  const memory = {
    storage: "memory",
    persisted: false,
    reason: expect.stringMatching(/OPFS|origin private file system/),
  }
  expect(seen).toMatchObject({
    told: memory,
    status: memory,
    tip: 2,
    rows: [{ x: 1 }, { x: 2 }],
    cancelled: "canceled",
    after: { n: 2 },
    closed: "closed",
  })
})

test("C35 storage opfs fails where there is none, naming what is missing, and nothing is uncaught", async ({
  page,
}) => {
  const failure = await page.evaluate(async () => {
    const uncaught: string[] = []
    addEventListener("unhandledrejection", (event) => uncaught.push(String(event.reason)))
    const { code, message } = await window.agentdbWeb.openAgentDB({ storage: "opfs" }).then(
      () => ({ code: "opened", message: "" }),
      (error: { code: string; message: string }) => error,
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
    return { code, message, uncaught }
  })
  expect(failure).toEqual({
    code: "failed_precondition",
    message: expect.stringMatching(/storage "opfs" is not available: .*getDirectory/),
    uncaught: [],
  })
})
