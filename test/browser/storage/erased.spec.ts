import type { Page } from "@playwright/test"
import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { createTable, insert, openService, values } from "../host/service-page.ts"

/** The code that a call in the page fails with. */
function codeOf(page: Page, call: "insert" | "create" | "list" | "get" | "connect", id: string): Promise<string> {
  return page.evaluate(
    async ([call, id]) => {
      const calls = {
        insert: () => window.connection.exec("INSERT INTO t VALUES(1)"),
        create: () => window.db.createDatabase(),
        list: () => window.db.listDatabases(),
        get: () => window.db.getDatabase(id),
        connect: () => window.db.connect(id),
      }
      return calls[call]().then(
        () => "none",
        (error: { code: string }) => error.code,
      )
    },
    [call, id] as const,
  )
}

/** Writes until it fails: how long an erased file is written to is the service's to bound. */
async function writeUntilRefused(page: Page, id: string): Promise<void> {
  await expect.poll(() => codeOf(page, "insert", id), { timeout: 20_000, intervals: [200] }).not.toBe("none")
}

test("site data that is cleared under a running service is reported, and no empty service takes its place", async ({
  profile,
  site,
}) => {
  const page = await openHarness(await profile.context.newPage(), site.plain)
  const devtools = await profile.context.newCDPSession(page)
  await openService(page, { storage: "opfs" })
  const id = await createTable(page)
  await insert(page, 1)
  const { origin } = new URL(site.plain)
  await devtools.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" })
  await writeUntilRefused(page, id)
  for (const call of ["create", "list", "get", "connect"] as const) {
    expect([call, await codeOf(page, call, id)]).toEqual([call, "data_loss"])
  }
  await expect
    .poll(() => page.evaluate(() => window.db.status))
    .toMatchObject({ storage: "opfs", reason: expect.stringContaining("erased") })
  expect(await page.evaluate(() => window.statuses.at(-1)?.reason)).toContain("erased")
})

test("a database whose files are erased under it is reported, kept in the list, and the others go on", async ({
  profile,
  site,
}) => {
  const page = await openHarness(await profile.context.newPage(), site.plain)
  await openService(page, { storage: "opfs", limits: { databaseIdleMs: 1_000 } })
  const sound = await createTable(page)
  const id = await createTable(page)
  await insert(page, 1)
  // Its handles keep others out; once it is idle they are let go.
  const erase = () =>
    page.evaluate(async (id) => {
      let folder = await navigator.storage.getDirectory()
      for (const name of ["agentdb", "devkey", id]) folder = await folder.getDirectoryHandle(name)
      await folder.removeEntry("data.sqlite")
    }, id)
  await expect(erase).toPass({ timeout: 20_000 })
  expect(await codeOf(page, "insert", id)).toBe("data_loss")
  expect(await codeOf(page, "get", id)).toBe("data_loss")
  const listed = await page.evaluate(async () => (await window.db.listDatabases()).databases.map((d) => d.databaseId))
  expect(listed).toEqual([sound, id])
  const raw = await page.evaluate(
    async (id) => (await window.db.rawDatabaseFiles(id)).map(({ name, content }) => [name, content instanceof Blob]),
    id,
  )
  expect(raw).toEqual([
    ["data.sqlite-wal", true],
    ["meta", true],
  ])
  await page.evaluate(async (id) => {
    window.connection = await window.db.connect(id)
  }, sound)
  await insert(page, 2)
  expect(await values(page)).toEqual([2])
  // The same after a start.
  await page.evaluate(() => window.db.close())
  await openService(page, { storage: "opfs" })
  expect(await codeOf(page, "connect", id)).toBe("data_loss")
})
