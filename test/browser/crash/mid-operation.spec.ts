import { setTimeout as delay } from "node:timers/promises"
import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import type { Profile } from "../../fixtures/profile.ts"
import { Random } from "../../fixtures/random.ts"
import { closeService, databaseFolders, dumpFiles, expectNothingLeftBehind, openAll, rowsOf } from "./after-kill.ts"
import { listen, type Report } from "./report.ts"

const kills = Number(process.env["AGENTDB_OPERATION_KILLS"] ?? 1)
const seed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000)
const random = new Random(seed)

test.beforeEach(() => {
  test.setTimeout(60_000 + kills * 20_000)
  test.info().annotations.push({ type: "seed", description: String(seed) })
})

/** What the page told of its operations before it died. */
interface Heard {
  readonly begun: Report[]
  readonly ended: Report[]
}

/**
 * Kills the browser at a random moment of the operation that is the `nth` to begin.
 * @param run makes the page repeat the operation, with `report("begin")` before and `report("end")` after each.
 */
async function killDuring(profile: Profile, page: Page, nth: number, run: () => Promise<void>): Promise<Heard> {
  const [begun, ended]: [Report[], Report[]] = [[], []]
  const [beganAt, endedAt]: [number[], number[]] = [[], []]
  await new Promise<void>((resolve, reject) => {
    listen(page, (what, details) => {
      const [reports, times] = what === "end" ? [ended, endedAt] : [begun, beganAt]
      reports.push(details)
      times.push(performance.now())
      if (begun.length === nth) resolve()
    })
      .then(run)
      .catch(reject)
  })
  // Of the newest that has ended; begun one after another, they end nearly so.
  const typicalMs = (endedAt.at(-1) ?? 0) - (beganAt[endedAt.length - 1] ?? 0)
  await delay(random.next() * typicalMs)
  await profile.kill()
  return { begun, ended }
}

for (const kind of ["batch", "commit"] as const) {
  const rowsOfOne = kind === "batch" ? 2000 : 20

  test(`killed mid-${kind}: all of it or nothing`, async ({ profile, site }) => {
    let page = await profile.open(site.plain)
    const databaseId = await page.evaluate(async () => {
      const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      const { databaseId } = await agentdb.createDatabase()
      const db = await agentdb.connect(databaseId)
      await db.exec("CREATE TABLE t(n INTEGER, filler)")
      await agentdb.close()
      return databaseId
    })
    const figures = { underWay: 0, there: 0 }
    let stored = 0
    for (let kill = 1; kill <= kills; kill++) {
      const what = `kill ${kill}, AGENTDB_SEED=${seed}`
      const { begun, ended } = await killDuring(profile, page, 3, () =>
        page.evaluate(
          async ({ kind, databaseId, first, rowsOfOne }) => {
            const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
            const db = await agentdb.connect(databaseId)
            const begin = (n: number) => window.report("begin", { n })
            for (let n = first; ; n++) {
              if (kind === "batch") {
                await begin(n)
                await db.batch(Array(rowsOfOne).fill({ sql: "INSERT INTO t VALUES (?, randomblob(500))", params: [n] }))
              } else {
                const transaction = await db.begin()
                for (let i = 0; i < rowsOfOne; i++) {
                  await transaction.exec("INSERT INTO t VALUES (?, randomblob(100000))", [n])
                }
                await begin(n)
                await transaction.commit()
              }
              await window.report("end", { n })
            }
          },
          { kind, databaseId, first: stored + 1, rowsOfOne },
        ),
      )
      await profile.launch()
      page = await profile.open(site.plain)
      const { databases } = await openAll(page)
      const rows = await rowsOf(page, databaseId, "SELECT n, count(*) FROM t GROUP BY n ORDER BY n")
      expect(rows, what).toEqual(Array.from(rows, (_, i) => [i + 1, rowsOfOne]))
      expect(databases, what).toEqual([{ id: databaseId, tip: 1 + rows.length, integrity: [["ok"]] }])
      const [least, most] = [stored + ended.length, stored + begun.length]
      expect(rows.length, what).toBeGreaterThanOrEqual(least)
      expect(rows.length, what).toBeLessThanOrEqual(most)
      await expectNothingLeftBehind(page, [databaseId], what)
      await closeService(page)
      figures.underWay += most - least
      figures.there += rows.length - least
      stored = rows.length
    }
    console.log(
      `mid-${kind}: ${kills} kills, ${figures.underWay} with one under way, of which ${figures.there} stood whole after`,
    )
  })
}

test("killed mid-dump: no part of a dump stays, and what was handed out does", async ({ profile, site }) => {
  let page = await profile.open(site.plain)
  const databaseId = await page.evaluate(async () => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.exec("CREATE TABLE t(filler)")
    await db.exec(
      "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 120) INSERT INTO t SELECT randomblob(100000) FROM c",
    )
    await agentdb.close()
    return databaseId
  })
  const figures = { underWay: 0, unfinished: 0 }
  let stored = 0
  for (let kill = 1; kill <= kills; kill++) {
    const what = `kill ${kill}, AGENTDB_SEED=${seed}`
    const { begun, ended } = await killDuring(profile, page, 2, () =>
      page.evaluate(async (databaseId) => {
        const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
        for (;;) {
          await window.report("begin", {})
          await agentdb.dumpDatabase(databaseId)
          await window.report("end", {})
        }
      }, databaseId),
    )
    await profile.launch()
    page = await profile.open(site.plain)
    figures.unfinished += (await dumpFiles(page)).unfinished.length
    const { databases } = await openAll(page)
    expect(databases, what).toEqual([{ id: databaseId, tip: 2, integrity: [["ok"]] }])
    expect(await rowsOf(page, databaseId, "SELECT count(*), sum(length(filler)) FROM t"), what).toEqual([
      [120, 12_000_000],
    ])
    await expectNothingLeftBehind(page, [databaseId], what)
    const { live } = await dumpFiles(page)
    expect(live.length, what).toBeGreaterThanOrEqual(stored + ended.length)
    expect(live.length, what).toBeLessThanOrEqual(stored + begun.length)
    for (const path of live) expect(await missingBytes(page, path), `${path}, ${what}`).toBe(0)
    await closeService(page)
    figures.underWay += begun.length - ended.length
    stored = live.length
  }
  console.log(
    `mid-dump: ${kills} kills, ${figures.underWay} with one under way, ${figures.unfinished} unfinished files swept`,
  )
})

/** What a SQLite file's header promises beyond what the file has. */
function missingBytes(page: Page, path: string): Promise<number> {
  return page.evaluate(async (path) => {
    const [name = "", ...folders] = path.slice(1).split("/").reverse()
    let folder = await navigator.storage.getDirectory()
    for (const each of folders.reverse()) folder = await folder.getDirectoryHandle(each)
    const file = await (await folder.getFileHandle(name)).getFile()
    const header = new DataView(await file.slice(0, 100).arrayBuffer())
    return header.getUint16(16) * header.getUint32(28) - file.size
  }, path)
}

test("killed mid-create: a database is there whole, or not at all", async ({ profile, site }) => {
  const lanes = 3
  const figures = { underWay: 0, there: 0, halfMade: 0 }
  let page = await profile.open(site.plain)
  for (let kill = 1; kill <= kills; kill++) {
    const what = `kill ${kill}, AGENTDB_SEED=${seed}`
    const { begun, ended } = await killDuring(profile, page, 12 + random.below(lanes), () =>
      page.evaluate(async (lanes) => {
        const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
        const run = async () => {
          for (;;) {
            await window.report("begin", {})
            const { databaseId } = await agentdb.createDatabase({ region: "here" })
            await window.report("end", { databaseId })
          }
        }
        await Promise.all(Array.from({ length: lanes }, run))
      }, lanes),
    )
    await profile.launch()
    page = await profile.open(site.plain)
    const folders = await databaseFolders(page)
    const { databases } = await openAll(page)
    const listed = databases.map(({ id }) => id)
    expect(listed, what).toEqual(expect.arrayContaining(ended.map(({ databaseId }) => databaseId)))
    expect(listed.length, what).toBeLessThanOrEqual(begun.length)
    for (const database of databases) expect(database, what).toMatchObject({ tip: 0, integrity: [["ok"]] })
    await expectNothingLeftBehind(page, listed, what)
    figures.underWay += begun.length - ended.length
    figures.there += listed.length - ended.length
    figures.halfMade += folders.length - listed.length

    await page.evaluate((listed) => Promise.all(listed.map((id) => window.service.deleteDatabase(id))), listed)
    await expectNothingLeftBehind(page, [], what)
    await closeService(page)
  }
  console.log(
    `mid-create: ${kills} kills, ${figures.underWay} creations under way, of which ${figures.there} stood whole after ` +
      `and ${figures.halfMade} half-made ones were swept`,
  )
})

test("killed mid-delete: a database is there whole, or not at all", async ({ profile, site }) => {
  const figures = { underWay: 0, there: 0, halfGone: 0 }
  let page = await profile.open(site.plain)
  for (let kill = 1; kill <= kills; kill++) {
    const what = `kill ${kill}, AGENTDB_SEED=${seed}`
    const ids = await page.evaluate(async (closeFirst) => {
      const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      const ids = Array.from({ length: 16 }, async () => {
        const { databaseId } = await agentdb.createDatabase()
        const db = await agentdb.connect(databaseId)
        await db.exec("CREATE TABLE t(x)")
        await db.exec("INSERT INTO t VALUES (randomblob(100000))")
        await db.close()
        await agentdb.dumpDatabase(databaseId)
        return databaseId
      })
      const made = await Promise.all(ids)
      // Those that are open still are deleted by another path.
      if (closeFirst) await agentdb.close()
      return made
    }, random.chance(0.5))
    const { begun, ended } = await killDuring(profile, page, 4 + random.below(8), () =>
      page.evaluate(async (ids) => {
        const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
        const left = [...ids]
        const run = async () => {
          for (let id = left.pop(); id !== undefined; id = left.pop()) {
            await window.report("begin", { id })
            await agentdb.deleteDatabase(id)
            await window.report("end", { id })
          }
        }
        await Promise.all([run(), run()])
      }, ids),
    )
    await profile.launch()
    page = await profile.open(site.plain)
    const folders = await databaseFolders(page)
    const { databases } = await openAll(page)
    const listed = databases.map(({ id }) => id)
    const idsOf = (reports: readonly Report[]) => new Set(reports.map(({ id }) => String(id)))
    const [touched, gone] = [idsOf(begun), idsOf(ended)]
    expect(
      listed.filter((id) => gone.has(id)),
      what,
    ).toEqual([])
    expect(listed, what).toEqual(expect.arrayContaining(ids.filter((id) => !touched.has(id))))
    for (const database of databases) {
      expect(database, what).toMatchObject({ tip: 2, integrity: [["ok"]] })
      expect(await rowsOf(page, database.id, "SELECT length(x) FROM t"), what).toEqual([[100_000]])
    }
    await expectNothingLeftBehind(page, listed, what)
    figures.underWay += touched.size - gone.size
    figures.there += listed.filter((id) => touched.has(id)).length
    figures.halfGone += folders.filter((id) => !listed.includes(id)).length

    await page.evaluate((listed) => Promise.all(listed.map((id) => window.service.deleteDatabase(id))), listed)
    await closeService(page)
  }
  console.log(
    `mid-delete: ${kills} kills, ${figures.underWay} deletions under way, of which ${figures.there} had not begun ` +
      `and ${figures.halfGone} half-done ones were finished`,
  )
})
