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

test("C34: out of quota is SQLITE_FULL: what was acknowledged stays, reads go on, and room heals it", async ({
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

const rounds = Number(process.env["AGENTDB_QUOTA_ROUNDS"] ?? 2)

test(`C34: filled ${rounds} times, plain, in a transaction, in a batch and by maintenance, nothing committed is lost`, async ({
  profile,
  site,
}) => {
  test.setTimeout(60_000 + rounds * 30_000)
  const page = await openHarness(await profile.context.newPage(), site.plain)
  const devtools = await profile.context.newCDPSession(page)
  const { origin } = new URL(site.plain)
  const setQuota = (quotaSize: number) => devtools.send("Storage.overrideQuotaForOrigin", { origin, quotaSize })
  await openService(page, { storage: "opfs" })
  const id = await createTable(page)
  let expected = 0
  for (let round = 0; round < rounds; round++) {
    const usage = await page.evaluate(async () => (await navigator.storage.estimate()).usage ?? 0)
    await setQuota(usage + (3 + (round % 3)) * 2 ** 20)
    const kinds = await page.evaluate(async (id) => {
      const db = window.connection
      const codes: Record<string, unknown> = {}
      const fails = async (name: string, job: () => Promise<unknown>) => {
        codes[name] = await job().then(
          () => "none",
          (error: { code: string }) => error.code,
        )
      }
      let done = 0
      const large = "INSERT INTO t VALUES (randomblob(700000))"
      // Each kind adds to what is there, or nothing.
      await fails("plain", async () => {
        for (;;) {
          await db.exec(large)
          done++
        }
      })
      await fails("transaction", () =>
        db.transaction(async (tx) => {
          await tx.exec("INSERT INTO t VALUES (1)")
          for (let i = 0; i < 20; i++) await tx.exec(large)
        }),
      )
      await fails("batch", () => db.batch(["INSERT INTO t VALUES (1)", ...Array(20).fill(large)]))
      await fails("index", () => db.exec("CREATE INDEX i ON t(v)"))
      await fails("vacuum", () => db.exec("VACUUM"))
      await fails("dump", () => window.db.dumpDatabase(id))
      const made: string[] = []
      await fails("create", async () => {
        for (let i = 0; i < 2000; i++) made.push((await window.db.createDatabase()).databaseId)
      })
      // Room comes back by deletion, which must not need any.
      for (const one of made) await window.db.deleteDatabase(one)
      return { done, codes, left: (await window.db.listDatabases()).databases.length }
    }, id)
    expected += kinds.done
    expect(kinds.codes).toEqual({
      plain: "SQLITE_FULL",
      transaction: "SQLITE_FULL",
      batch: "SQLITE_FULL",
      index: "SQLITE_FULL",
      vacuum: "SQLITE_FULL",
      dump: "resource_exhausted",
      create: "resource_exhausted",
    })
    expect(kinds.left).toBe(1)
    expect(await ask(page, "SELECT count(*) FROM t")).toBe(expected)
    expect((await opfsTree(page)).filter(({ path }) => path.includes("dump-"))).toEqual([])
    // Opened anew on the full disk.
    await page.evaluate(async (id) => {
      await window.db.close()
      window.db = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      window.connection = await window.db.connect(id)
    }, id)
    expect(await ask(page, "SELECT count(*) FROM t")).toBe(expected)
    await setQuota(usage + 400 * 2 ** 20)
    expect(await repeat(page, "INSERT INTO t VALUES (randomblob(700000))", 1)).toEqual({ done: 1, code: undefined })
    expected++
    expect(await ask(page, "SELECT count(*) FROM t")).toBe(expected)
    expect(await ask(page, "PRAGMA integrity_check")).toBe("ok")
    // Each round begins as small as the first, so that it is the quota that ends it.
    await page.evaluate(async (id) => {
      await window.connection.exec("DELETE FROM t WHERE rowid > 3")
      await window.connection.exec("VACUUM")
      await window.db.close()
      window.db = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      window.connection = await window.db.connect(id)
    }, id)
    expected = 3
  }
})
