import { statSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import type { Page } from "@playwright/test"
import type { Dump } from "../../../src/index.ts"
import { expect, test } from "../../fixtures/browser.ts"
import { canMeasureMemory, MemoryWatch } from "../../fixtures/memory.ts"
import { askFile, hasSqlite3, noSqlite3 } from "../../fixtures/sqlite3-cli.ts"

const mebibytes = Number(process.env["AGENTDB_DUMP_MIB"] ?? 20)

interface Writer {
  /** Commits, and the longest time between two acknowledgements in milliseconds, since the last look. */
  look(): { commits: number; longestPauseMs: number }
  /** Ends after the commit under way. */
  stop(): Promise<void>
}

declare global {
  interface Window {
    writer: Writer
  }
}

/** Makes a database of about this size; gives its id and its tip. */
function fill(page: Page, mebibytes: number): Promise<{ databaseId: string; tip: number }> {
  return page.evaluate(async (mebibytes) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.batch(["CREATE TABLE filler(x)", "CREATE TABLE log(tip INTEGER PRIMARY KEY)"])
    // Rows of a quarter of a page, a few MiB a commit.
    for (let left = mebibytes; left > 0; left -= 5) {
      await db.exec(
        `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT ${Math.min(left, 5) * 1024})
         INSERT INTO filler SELECT randomblob(990) FROM c`,
      )
    }
    const { tip } = await agentdb.getDatabase(databaseId)
    return { databaseId, tip }
  }, mebibytes)
}

/** The URL of a dump of another database of a MiB. */
async function dumpOfOne(page: Page): Promise<string> {
  const { databaseId } = await fill(page, 1)
  return page.evaluate(async (databaseId) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    return (await agentdb.dumpDatabase(databaseId)).downloadUrl
  }, databaseId)
}

/** Starts `window.writer`, which commits one row after another; each carries the tip that its commit makes. */
function startWriter(page: Page, databaseId: string): Promise<void> {
  return page.evaluate(async (databaseId) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const db = await agentdb.connect(databaseId)
    let { tip } = await agentdb.getDatabase(databaseId)
    let stopped = false
    let since = { commits: 0, longestPauseMs: 0 }
    const write = async () => {
      for (let last = performance.now(); !stopped; ) {
        const answer = await db.exec("INSERT INTO log VALUES (?)", [++tip])
        if (answer.tip !== tip) throw new Error(`the commit ${tip} was answered as ${answer.tip}`)
        const now = performance.now()
        since = { commits: since.commits + 1, longestPauseMs: Math.max(since.longestPauseMs, now - last) }
        last = now
      }
    }
    const writing = write()
    window.writer = {
      look() {
        const seen = since
        since = { commits: 0, longestPauseMs: 0 }
        return seen
      },
      async stop() {
        stopped = true
        await writing
      },
    }
  }, databaseId)
}

/** Saves a dump as a person does: by a link on the page. */
async function download(page: Page, url: string, path: string): Promise<void> {
  const [started] = await Promise.all([
    page.waitForEvent("download"),
    page.evaluate((url) => {
      const link = document.createElement("a")
      link.href = url
      link.download = "dump.sqlite"
      link.click()
    }, url),
  ])
  await started.saveAs(path)
}

test(`a dump of ${mebibytes} MiB under a writer: memory stays flat, and the download is the database at the dump's tip`, async ({
  profile,
  site,
}) => {
  test.skip(!hasSqlite3, noSqlite3)
  test.skip(!canMeasureMemory, "this system does not tell what its processes hold")
  test.setTimeout(60_000 + mebibytes * 1_000)
  const filled = await fill(await profile.open(site.plain), mebibytes)
  // What the filling took is given back by then, in a browser of its own, which has done all of it once.
  await profile.close()
  await profile.launch()
  const page = await profile.open(site.plain)
  await download(page, await dumpOfOne(page), join(profile.folder, "small.sqlite"))
  await startWriter(page, filled.databaseId)
  await delay(2_000)

  const memory = new MemoryWatch(await profile.browserPid())
  // In the profile's folder, so that it goes with it.
  const path = join(profile.folder, "dump.sqlite")
  const { dump, ms, alone, beside } = await page.evaluate(async (databaseId) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const alone = window.writer.look()
    const started = performance.now()
    const dump: Dump = await agentdb.dumpDatabase(databaseId)
    return { dump, ms: performance.now() - started, alone, beside: window.writer.look() }
  }, filled.databaseId)
  const grownByDump = memory.growth
  await download(page, dump.downloadUrl, path)
  memory.stop()
  const after = await page.evaluate(async () => {
    await window.writer.stop()
    return window.writer.look()
  })
  console.log(
    `dump of ${(statSync(path).size / 2 ** 20).toFixed(0)} MiB in ${ms.toFixed(0)} ms: all browser processes ` +
      `${memory.before.toFixed(0)} MiB, at most ${grownByDump.toFixed(1)} MiB more while dumping and ` +
      `${memory.growth.toFixed(1)} with the download; ${beside.commits} commits meanwhile, longest pause ` +
      `${beside.longestPauseMs.toFixed(0)} ms (without a dump ${alone.longestPauseMs.toFixed(0)} ms)`,
  )

  expect(beside.commits).toBeGreaterThan(0)
  expect(after.commits).toBeGreaterThan(0)
  expect(memory.growth).toBeLessThanOrEqual(64)
  expect(statSync(path).size).toBeGreaterThan(mebibytes * 2 ** 20)
  expect(askFile(path, "PRAGMA integrity_check")).toBe("ok")
  expect(askFile(path, "PRAGMA journal_mode")).toBe("delete")
  expect(askFile(path, "SELECT group_concat(name) FROM sqlite_schema")).toBe("filler,log")
  expect(askFile(path, "SELECT count(*), sum(length(x)) FROM filler")).toBe(
    `${mebibytes * 1024}|${mebibytes * 1024 * 990}`,
  )
  // Every commit of the writer up to the tip, and none after.
  expect(dump.tip).toBeGreaterThan(filled.tip)
  expect(askFile(path, "SELECT min(tip), max(tip), count(*) FROM log")).toBe(
    `${filled.tip + 1}|${dump.tip}|${dump.tip - filled.tip}`,
  )
})
