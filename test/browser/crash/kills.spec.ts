import { setTimeout as delay } from "node:timers/promises"
import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import { Random } from "../../fixtures/random.ts"
import { closeService, expectNothingLeftBehind, openAll, rowsOf } from "./after-kill.ts"
import { listen, type Report } from "./report.ts"

const kills = Number(process.env["AGENTDB_KILLS"] ?? 2)
const seed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000)

/** Writers, each with at most one commit under way; the statements of the first kind share a socket. */
const lanes = [
  ...Array.from({ length: 12 }, (_, i) => `exec-${i}`),
  ...["batch-0", "batch-1"],
  ...["transaction-0", "transaction-1"],
]
const partsOfBatch = 3

function createDatabase(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    // Every commit but this one makes one row in `commits`. No constraint keeps a commit from being there twice.
    await db.batch([
      "CREATE TABLE commits(id INTEGER PRIMARY KEY, lane TEXT, n INTEGER)",
      "CREATE TABLE parts(lane TEXT, n INTEGER, filler)",
      "CREATE TABLE a(lane TEXT, n INTEGER)",
      "CREATE TABLE b(lane TEXT, n INTEGER, filler)",
    ])
    await agentdb.close()
    return databaseId
  })
}

/** Writes in each lane from behind its `last` on, until the browser dies. */
function startWriting(page: Page, databaseId: string, last: ReadonlyMap<string, number>): Promise<void> {
  return page.evaluate(
    async ({ databaseId, lanes, partsOfBatch }) => {
      const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      const [execs, others] = [await agentdb.connect(databaseId), await agentdb.connect(databaseId)]
      const insertCommit = "INSERT INTO commits(lane, n) VALUES (?, ?)"
      const write = async (lane: string, n: number): Promise<{ tip: number }> => {
        if (lane.startsWith("exec")) return execs.exec(insertCommit, [lane, n])
        if (lane.startsWith("batch")) {
          const part = { sql: "INSERT INTO parts VALUES (?, ?, randomblob(500))", params: [lane, n] }
          return others.batch([{ sql: insertCommit, params: [lane, n] }, ...Array(partsOfBatch).fill(part)])
        }
        const transaction = await others.begin()
        await transaction.exec("INSERT INTO a VALUES (?, ?)", [lane, n])
        await transaction.exec("INSERT INTO b VALUES (?, ?, randomblob(3000))", [lane, n])
        await transaction.exec(insertCommit, [lane, n])
        return transaction.commit()
      }
      for (const { lane, last } of lanes) {
        const run = async () => {
          for (let n = last + 1; ; n++) await window.report("ack", { lane, n, tip: (await write(lane, n)).tip })
        }
        run().catch((error) => window.report("failure", { lane, error: String(error) }))
      }
    },
    { databaseId, lanes: lanes.map((lane) => ({ lane, last: last.get(lane) ?? 0 })), partsOfBatch },
  )
}

test(`after each of ${kills} kills of the browser every acknowledged commit is there, once and whole`, async ({
  profile,
  site,
}) => {
  test.setTimeout(60_000 + kills * 30_000)
  const random = new Random(seed)
  test.info().annotations.push({ type: "seed", description: String(seed) })
  let page = await profile.open(site.plain)
  const databaseId = await createDatabase(page)
  /** What must be there, by tip: `lane n`. */
  const promised = new Map<number, string>()
  const newest = new Map<string, number>()

  for (let kill = 1; kill <= kills; kill++) {
    const what = `kill ${kill}, AGENTDB_SEED=${seed}`
    const before = promised.size
    const failures: Report[] = []
    await listen(page, (kind, details) => {
      const { lane, n, tip } = details
      if (kind !== "ack" || promised.has(Number(tip))) {
        failures.push(details)
        return
      }
      promised.set(Number(tip), `${lane} ${n}`)
      newest.set(String(lane), Number(n))
    })
    // The kill ends it, at its start too.
    startWriting(page, databaseId, newest).catch(() => {})
    // Most kills hit the writing, some the opening.
    const hitsWriting = kill === 1 || random.chance(0.8)
    if (hitsWriting) await expect.poll(() => promised.size, { timeout: 30_000 }).toBeGreaterThan(before + lanes.length)
    await delay(random.below(hitsWriting ? 3_000 : 300))
    await profile.kill()
    expect(failures, what).toEqual([])
    const acknowledged = promised.size - before
    await profile.launch()
    page = await profile.open(site.plain)

    const { openMs, databases } = await openAll(page)
    expect(openMs, what).toBeLessThanOrEqual(5_000)
    expect(databases, what).toMatchObject([{ id: databaseId, integrity: [["ok"]] }])
    await expectNothingLeftBehind(page, [databaseId], what)

    const commits = await rowsOf(page, databaseId, "SELECT lane, n, id FROM commits ORDER BY id")
    const tip = databases[0]?.tip ?? 0
    // The tables were one commit, and each row is one.
    expect(tip, what).toBe(1 + commits.length)
    expect(tip, what).toBeGreaterThanOrEqual(Math.max(...promised.keys()))
    const stored = new Map(commits.map(([lane, n, id]) => [Number(id) + 1, `${lane} ${n}`]))
    const broken = [...promised].filter(([tip, commit]) => stored.get(tip) !== commit)
    expect(broken, `acknowledged and not where the acknowledgement said, ${what}`).toEqual([])
    let beyond = 0
    for (const lane of lanes) {
      const numbers = commits.filter(([name]) => name === lane).map(([, n]) => n)
      // In order, each once, nothing left out.
      expect(numbers, `${lane}, ${what}`).toEqual(Array.from(numbers, (_, i) => i + 1))
      // The one whose acknowledgement was on its way may be there too.
      const more = numbers.length - (newest.get(lane) ?? 0)
      expect([0, 1], `${lane}, ${what}`).toContain(more)
      beyond += more
      newest.set(lane, numbers.length)
    }
    expect(await rowsOf(page, databaseId, wholeness), what).toEqual([wholenessOf(commits)])
    // What has been seen is there to stay.
    for (const [tip, commit] of stored) promised.set(tip, commit)
    await closeService(page)
    console.log(
      `kill ${kill} of ${kills}: ${acknowledged} commits acknowledged and there, ${beyond} beyond, ` +
        `tip ${tip}, first rows after ${openMs.toFixed(0)} ms`,
    )
  }
})

/** What transactions and batches wrote apart from their row in `commits`, and how much of it stands alone. */
const wholeness = `
  SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b), (SELECT count(*) FROM parts),
         (SELECT count(*) FROM (SELECT lane, n FROM a EXCEPT SELECT lane, n FROM b)),
         (SELECT count(*) FROM (SELECT lane, n FROM a EXCEPT SELECT lane, n FROM commits)),
         (SELECT count(*) FROM (SELECT lane, n FROM parts GROUP BY lane, n HAVING count(*) <> ${partsOfBatch}))`

function wholenessOf(commits: readonly unknown[][]): number[] {
  const ofLanes = (kind: string) => commits.filter(([lane]) => String(lane).startsWith(kind)).length
  return [ofLanes("transaction"), ofLanes("transaction"), ofLanes("batch") * partsOfBatch, 0, 0, 0]
}
