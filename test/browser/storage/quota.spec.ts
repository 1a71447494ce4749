import type { Page } from "@playwright/test"
import { expect, openHarness, opfsTree, test } from "../../fixtures/browser.ts"
import { createTable, openService } from "../host/service-page.ts"

/** Executes `sql` until it fails, at most `most` times. */
function repeat(page: Page, sql: string, most: number): Promise<{ done: number; code: string | undefined }> {
  return page.evaluate(
    async ({ sql, most }) => {
      for (let done = 0; done < most; done++) {
        try {
          await window.connection.exec(sql)
        } catch (error) {
          return { done, code: (error as { code: string }).code }
        }
      }
      return { done: most, code: undefined }
    },
    { sql, most },
  )
}

/** The first value of a query. */
function ask(page: Page, sql: string): Promise<unknown> {
  return page.evaluate(async (sql) => Object.values((await window.connection.query(sql).first()) ?? {})[0], sql)
}

test("out of quota is SQLITE_FULL: what was acknowledged stays, reads go on, and room heals it", async ({
  profile,
  site,
}) => {
  const page = await openHarness(await profile.context.newPage(), site.plain)
  const devtools = await profile.context.newCDPSession(page)
  const setQuota = (quotaSize: number) =>
    devtools.send("Storage.overrideQuotaForOrigin", { origin: new URL(site.plain).origin, quotaSize })
  await openService(page, { storage: "opfs" })
  const databaseId = await createTable(page)

  await setQuota(5 * 2 ** 20)
  const large = await repeat(page, "INSERT INTO t VALUES (randomblob(1048576))", 20)
  expect(large.code).toBe("SQLITE_FULL")
  // Commits of this size are buffered: the buffer must have its place on the disk before they are acknowledged.
  const small = await repeat(page, "INSERT INTO t VALUES (randomblob(1000))", 20_000)
  expect(small.code).toBe("SQLITE_FULL")
  expect(await ask(page, "SELECT count(*) FROM t")).toBe(large.done + small.done)
  expect((await repeat(page, "VACUUM", 1)).code).toBe("SQLITE_FULL")
  expect(await ask(page, "SELECT count(*) FROM t")).toBe(large.done + small.done)

  await setQuota(200 * 2 ** 20)
  expect(await repeat(page, "INSERT INTO t VALUES (randomblob(1048576))", 3)).toEqual({ done: 3, code: undefined })
  expect(await ask(page, "SELECT count(*) FROM t")).toBe(large.done + small.done + 3)
  expect(await ask(page, "PRAGMA integrity_check")).toBe("ok")
  await page.evaluate(() => window.db.close())
  const main = (await opfsTree(page)).find(({ path }) => path.endsWith(`${databaseId}/data.sqlite`))
  expect(main?.size).toBeGreaterThan(3 * 2 ** 20)
})
