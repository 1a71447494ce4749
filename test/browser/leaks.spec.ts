import type { CDPSession } from "@playwright/test"
import { expect, test } from "../fixtures/browser.ts"
import { canMeasureMemory, treeMemory } from "../fixtures/memory.ts"

/** Thousandths of the long form, which is 20,000 queries and 10,000 sockets. */
const scale = Number(process.env["AGENTDB_LEAKS"] ?? 100)

/** What the page holds after a collection: MiB of its heap, and listeners. */
async function held(cdp: CDPSession) {
  await cdp.send("HeapProfiler.collectGarbage")
  const { usedSize } = (await cdp.send("Runtime.getHeapUsage")) as { usedSize: number }
  const { jsEventListeners } = await cdp.send("Memory.getDOMCounters")
  return { heap: usedSize / 2 ** 20, listeners: jsEventListeners }
}

test("C71 queries and sockets by the thousand leave no statements, listeners or memory behind", async ({
  profile,
  site,
}) => {
  test.setTimeout(1_800_000)
  const page = await profile.open(site.plain)
  const cdp = await profile.context.newCDPSession(page)
  await page.evaluate(async () => {
    const agentdb = await window.agentdbWeb.openAgentDB({ name: "leaks", storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.batch(["CREATE TABLE t(x)", "INSERT INTO t VALUES(1), (2), (-9223372036854775808), (4)"])
    Object.assign(window, { leaks: { agentdb, databaseId, db } })
  })
  const queries = (from: number, count: number) =>
    page.evaluate(
      async ([from, count]) => {
        const { db } = (window as unknown as { leaks: { db: import("agentdb-web").Connection } }).leaks
        const code = (promise: Promise<unknown>) =>
          promise.then(
            () => "done",
            (error: { code: string }) => error.code,
          )
        const seen: Record<string, number> = {}
        for (let i = from; i < from + count; i++) {
          const stream = db.query(`SELECT a.x AS c${i} FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j`)
          const cancelled = code(stream.all())
          stream.cancel()
          const codes = await Promise.all([
            code(db.query(`SELECT x AS c${i} FROM t`).all()),
            code(db.query(`SELEC ${i}`).all()),
            code(db.query(`SELECT abs(x) AS c${i} FROM t`).all()),
            cancelled,
          ])
          const key = codes.join()
          seen[key] = (seen[key] ?? 0) + 1
        }
        const row = await db.query("SELECT count(*) AS n FROM sqlite_stmt").first()
        return { seen, statements: row?.["n"] }
      },
      [from, count] as const,
    )
  const sockets = (count: number) =>
    page.evaluate(async (count) => {
      const { agentdb, databaseId } = (
        window as unknown as { leaks: { agentdb: import("agentdb-web").AgentDB; databaseId: string } }
      ).leaks
      for (let i = 0; i < count; i++) {
        const db = await agentdb.connect(databaseId)
        if (i % 10 === 0) await db.query("SELECT 1").all()
        await db.close()
      }
    }, count)
  const pid = await profile.browserPid()
  const memory = () => (canMeasureMemory ? treeMemory(pid) : 0)

  const warm = Math.max(50, (scale * 5) / 10)
  await queries(0, warm)
  await sockets(warm)
  const before = { ...(await held(cdp)), tree: memory() }
  const { seen, statements } = await queries(warm, 5 * scale)
  await sockets(10 * scale)
  const after = { ...(await held(cdp)), tree: memory() }
  const show = ({ heap, listeners, tree }: typeof before) =>
    `heap ${heap.toFixed(1)} MiB, ${listeners} listeners, all processes ${tree.toFixed(0)} MiB`
  console.log(`${20 * scale} queries, ${10 * scale} sockets: ${show(before)} -> ${show(after)}`)
  expect(seen).toEqual({ "done,SQLITE_ERROR,SQLITE_ERROR,canceled": 5 * scale })
  expect(statements).toBe(1)
  expect(after.listeners).toBeLessThanOrEqual(before.listeners + 2)
  expect(after.heap).toBeLessThan(before.heap + 8)
  if (canMeasureMemory) expect(after.tree).toBeLessThan(before.tree + 150)
})
