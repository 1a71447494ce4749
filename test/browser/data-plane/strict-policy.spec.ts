import { expect, test } from "../../fixtures/browser.ts"

test("under a policy without connect-src blob: no statement is cancelled falsely, and a cancel waits for the limit", async ({
  profile,
  site,
}) => {
  test.setTimeout(120_000)
  const page = await profile.open(site.strict)
  const outcome = await page.evaluate(async () => {
    const blocked = await fetch(URL.createObjectURL(new Blob(["x"]))).then(
      () => false,
      () => true,
    )
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs", limits: { statementMs: 6000 } })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    const count = (rows: number) => `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT ${rows})`
    const startedAt = performance.now()
    const slow = await db.query<{ n: number }>(`${count(2_000_000)} SELECT sum(x) AS n FROM c`).first()
    const ranMs = performance.now() - startedAt
    const signal = AbortSignal.timeout(200)
    const runaway = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c"
    const late = await db
      .query(runaway, [], { signal })
      .all()
      .then(
        () => "ended",
        (error: { code: string }) => error.code,
      )
    const afterwards = await db.query<{ one: number }>("SELECT 1 AS one").first()
    return { blocked, slow: slow?.n, ranMs, late, afterwards: afterwards?.one }
  })
  expect(outcome).toMatchObject({ blocked: true, slow: 2_000_001_000_000, late: "canceled", afterwards: 1 })
  // Long enough for several polls of a signal.
  expect(outcome.ranMs).toBeGreaterThan(150)
})
