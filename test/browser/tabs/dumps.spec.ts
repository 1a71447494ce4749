import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import { dumpFiles } from "../crash/after-kill.ts"
import { connectTo, createTable } from "../host/service-page.ts"
import { newOpenTab, takenOver } from "./tab.ts"

const rows = 10_000

/** Makes the table large: 10 MB. */
const fill = (page: Page): Promise<unknown> =>
  page.evaluate(
    (rows) =>
      window.connection.exec(
        `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT ${rows}) INSERT INTO t SELECT randomblob(1000) FROM c`,
      ),
    rows,
  )

/** Asks for a dump; gives its URL, or the code of the error. */
const dump = (page: Page, id: string): Promise<{ url: string; tip: number } | { code: string }> =>
  page.evaluate(
    (id) =>
      window.db.dumpDatabase(id).then(
        ({ downloadUrl, tip }) => ({ url: downloadUrl, tip }),
        ({ code }: { code: string }) => ({ code }),
      ),
    id,
  )

/** How many rows come back from a dump's URL. */
const restored = (page: Page, url: string): Promise<unknown> =>
  page.evaluate(async (url) => {
    const file = await (await fetch(url)).blob()
    const { databaseId } = await window.db.restoreDatabase(file)
    const connection = await window.db.connect(databaseId)
    const row = await connection.query("SELECT count(*) AS n FROM t").first()
    await connection.close()
    await window.db.deleteDatabase(databaseId)
    return row?.["n"]
  }, url)

test("a dump outlives the tab that led, and one that its end cut can be had anew, whole", async ({ profile, site }) => {
  const first = await newOpenTab(profile, site.plain)
  const id = await createTable(first)
  await fill(first)
  const second = await newOpenTab(profile, site.plain)
  await connectTo(second, id)
  const before = await dump(second, id)
  if (!("url" in before)) throw new Error(before.code)

  // One after the other, so that the end comes into the middle of one.
  const dumping = second.evaluate(async (id) => {
    const codes: string[] = []
    for (window.stopped = false; !window.stopped; ) {
      await window.db.dumpDatabase(id).catch(({ code }: { code: string }) => codes.push(code))
    }
    return codes
  }, id)
  await expect.poll(async () => (await dumpFiles(second)).live.length).toBeGreaterThan(1)
  await first.close()
  await takenOver(second)
  await second.evaluate(() => {
    window.stopped = true
  })
  expect(["", "disconnected"]).toContain((await dumping).join())

  expect(await restored(second, before.url)).toBe(rows)
  const anew = await dump(second, id)
  if (!("url" in anew)) throw new Error(anew.code)
  expect(anew.tip).toBe(before.tip)
  expect(await restored(second, anew.url)).toBe(rows)
  await expect.poll(async () => (await dumpFiles(second)).unfinished).toEqual([])
})
