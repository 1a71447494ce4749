import type { Page } from "@playwright/test"
import { expect, opfsTree, test } from "../../fixtures/browser.ts"
import { connectTo, createTable } from "../host/service-page.ts"
import { newOpenTab, takenOver } from "./tab.ts"

const rows = 30_000

/** Makes the table large: 30 MB. */
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

  const cut = dump(second, id)
  await expect
    .poll(async () => (await opfsTree(second)).some(({ path }) => path.includes("/unfinished-")), { intervals: [1] })
    .toBe(true)
  await first.close()
  const outcome = await cut
  if ("code" in outcome) expect(outcome.code).toBe("disconnected")
  await takenOver(second)

  expect(await restored(second, before.url)).toBe(rows)
  const anew = await dump(second, id)
  if (!("url" in anew)) throw new Error(anew.code)
  expect(anew.tip).toBe(before.tip)
  expect(await restored(second, anew.url)).toBe(rows)
  await expect
    .poll(async () => (await opfsTree(second)).filter(({ path }) => path.includes("/unfinished-")))
    .toEqual([])
})
