import { setTimeout as delay } from "node:timers/promises"
import type { Page } from "@playwright/test"
import { expect, opfsTree, test } from "../fixtures/browser.ts"
import { Random } from "../fixtures/random.ts"

const kills = Number(process.env["AGENTDB_KILLS"] ?? 4)
const seed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000)

/** Writes pairs of rows from `first` on, each pair a transaction, until the browser dies; tells of each that is acknowledged. */
async function writePairs(page: Page, databaseId: string, first: number, onAck: (i: number) => void): Promise<void> {
  await page.exposeFunction("acknowledged", onAck)
  await page.evaluate(
    async ([id, start]) => {
      const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      const db = await agentdb.connect(id)
      const { acknowledged } = window as unknown as { acknowledged(i: number): Promise<void> }
      const write = async () => {
        for (let i = start; ; i++) {
          await db.transaction(async (tx) => {
            await tx.exec("INSERT INTO a VALUES (?)", [i])
            await tx.exec("INSERT INTO b VALUES (?, randomblob(2000))", [i])
          })
          void acknowledged(i)
        }
      }
      void write()
    },
    [databaseId, first] as const,
  )
}

/** What is in the database after a kill. */
function look(page: Page, databaseId: string) {
  return page.evaluate(async (id) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const db = await agentdb.connect(id)
    const counts = await db
      .query<{ a: number; b: number; newest: number; oddPairs: number }>(
        `SELECT (SELECT count(*) FROM a) AS a, (SELECT count(*) FROM b) AS b, (SELECT ifnull(max(i), 0) FROM a) AS newest,
                (SELECT count(*) FROM a FULL JOIN b USING (i) WHERE a.i IS NULL OR b.i IS NULL) AS oddPairs`,
      )
      .first()
    const integrity = await db.query("PRAGMA integrity_check", [], { rowMode: "array" }).all()
    const { tip } = await agentdb.getDatabase(id)
    await agentdb.close()
    return { ...counts, integrity, tip }
  }, databaseId)
}

test(`after each of ${kills} kills of the browser every acknowledged transaction is there, whole`, async ({
  profile,
  site,
}) => {
  test.setTimeout(60_000 + kills * 30_000)
  const random = new Random(seed)
  test.info().annotations.push({ type: "seed", description: String(seed) })
  let page = await profile.open(site.plain)
  const databaseId = await page.evaluate(async () => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.batch(["CREATE TABLE a(i PRIMARY KEY)", "CREATE TABLE b(i PRIMARY KEY, x)"])
    await agentdb.close()
    return databaseId
  })
  const folder = `/agentdb/devkey/${databaseId}`
  const files = ["data.sqlite", "data.sqlite-wal", "meta"].map((name) => `${folder}/${name}`)
  expect((await opfsTree(page)).map(({ path }) => path)).toEqual(expect.arrayContaining(files))

  let stored = 0
  for (let kill = 1; kill <= kills; kill++) {
    let newestAck = stored
    await writePairs(page, databaseId, stored + 1, (i) => {
      newestAck = i
    })
    // Most kills hit the writing, some the opening.
    if (kill === 1 || random.chance(0.8))
      await expect.poll(() => newestAck, { timeout: 30_000 }).toBeGreaterThan(stored)
    await delay(random.below(300))
    await profile.kill()
    await profile.launch()
    page = await profile.open(site.plain)

    const found = await look(page, databaseId)
    const what = `kill ${kill}, AGENTDB_SEED=${seed}`
    expect(found, what).toMatchObject({ a: found.newest, b: found.newest, oddPairs: 0, integrity: [["ok"]] })
    // More than that may be there: what was durable with its acknowledgement still on the way.
    expect(found.newest, what).toBeGreaterThanOrEqual(newestAck)
    // The tables were one commit, and each pair is one.
    expect(found.tip, what).toBe(1 + (found.newest ?? 0))
    stored = found.newest ?? 0
  }
})
