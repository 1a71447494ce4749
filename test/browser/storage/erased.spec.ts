import type { Page } from "@playwright/test"
import { expect, openHarness, opfsTree, test } from "../../fixtures/browser.ts"
import type { Profile } from "../../fixtures/profile.ts"
import { connectTo, createTable, insert, openingFails, openService, values } from "../host/service-page.ts"
import { newTab, routes, testing } from "../tabs/tab.ts"

/** As a person does in the settings of the browser. */
async function clearSiteData(profile: Profile, page: Page, url: string): Promise<void> {
  const devtools = await profile.context.newCDPSession(page)
  await devtools.send("Storage.clearDataForOrigin", { origin: new URL(url).origin, storageTypes: "all" })
}

/** By the status and by the event. */
async function expectLoss(page: Page): Promise<void> {
  const loss = { storage: "opfs", problem: "data_loss", reason: expect.stringContaining("erased") }
  await expect.poll(() => page.evaluate(() => window.db.status)).toMatchObject(loss)
  expect(await page.evaluate(() => window.statuses.at(-1))).toMatchObject(loss)
}

type Call = "read" | "insert" | "create" | "list" | "get" | "connect"

/** The code that a call in the page fails with. */
function codeOf(page: Page, call: Call, id: string): Promise<string> {
  return page.evaluate(
    async ([call, id]) => {
      const calls = {
        read: () => window.connection.query("SELECT v FROM t").all(),
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
  await openService(page, { storage: "opfs" })
  const id = await createTable(page)
  await insert(page, 1)
  await clearSiteData(profile, page, site.plain)
  await writeUntilRefused(page, id)
  for (const call of ["create", "list", "get", "connect"] as const) {
    expect([call, await codeOf(page, call, id)]).toEqual([call, "data_loss"])
  }
  await expectLoss(page)
  // Whoever comes anew begins anew, beside the tab that had the data.
  const late = await openHarness(await profile.context.newPage(), site.plain)
  await openService(late, { storage: "opfs" })
  expect(await late.evaluate(() => window.db.listDatabases())).toEqual({ databases: [], nextPageToken: "" })
  await createTable(late)
  await insert(late, 2)
  expect(await codeOf(page, "list", id)).toBe("data_loss")
  await page.evaluate(() => window.db.close())
  // Its locks are no longer those of others.
  expect(await openingFails(page, { storage: "opfs" })).toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining("reload"),
  })
  await openHarness(page, site.plain)
  expect(await openService(page, { storage: "opfs" })).toMatchObject({ role: "follower", storage: "opfs" })
  expect((await page.evaluate(() => window.db.listDatabases())).databases).toHaveLength(1)
})

test("a worker that dies after site data was cleared is not followed by an empty service, until the page is loaded anew", async ({
  profile,
  site,
}) => {
  const page = await newTab(profile, site.plain)
  await openService(page, { storage: "opfs" })
  const id = await createTable(page)
  await insert(page, 1)
  await clearSiteData(profile, page, site.plain)
  await page.evaluate(() => window.workersMade[0]?.terminate())
  // What meets the death itself has an unknown outcome.
  await expect.poll(() => codeOf(page, "get", id)).toBe("data_loss")
  for (const call of ["read", "insert", "create", "list", "get", "connect"] as const) {
    expect([call, await codeOf(page, call, id)]).toEqual([call, "data_loss"])
  }
  await expectLoss(page)
  // Another handle would have the same service.
  expect(await openingFails(page, { storage: "opfs" })).toMatchObject({ code: "data_loss" })
  expect((await opfsTree(page)).filter(({ path }) => path.startsWith("/agentdb/"))).toEqual([])
  await openHarness(page, site.plain)
  const status = await openService(page, { storage: "opfs" })
  expect(status.problem).toBeUndefined()
  expect(await codeOf(page, "get", id)).toBe("not_found")
  await createTable(page)
  await insert(page, 2)
  expect(await values(page)).toEqual([2])
  expect(await page.evaluate(() => window.failures)).toEqual([])
})

test("a tab that comes before the loss was noticed begins anew, and the one that had the data says that it is gone", async ({
  profile,
  site,
}) => {
  const page = await newTab(profile, site.plain)
  await openService(page, { storage: "opfs" })
  const id = await createTable(page)
  await insert(page, 1)
  await clearSiteData(profile, page, site.plain)
  const late = await newTab(profile, site.plain)
  await openService(late, { storage: "opfs" })
  const other = await createTable(late)
  await insert(late, 2)
  await writeUntilRefused(page, id)
  await expectLoss(page)
  for (const call of ["read", "insert", "create", "list", "get", "connect"] as const) {
    expect([call, await codeOf(page, call, id)]).toEqual([call, "data_loss"])
  }
  expect(await values(late)).toEqual([2])
  const { databases } = await late.evaluate(() => window.db.listDatabases())
  expect(databases.map(({ databaseId }) => databaseId)).toEqual([other])
})

test("files that a script of the page removes are reported, and opened anew after every handle was closed", async ({
  profile,
  site,
}) => {
  const page = await newTab(profile, site.plain)
  await openService(page, { storage: "opfs" })
  const id = await createTable(page)
  // The service's scratch files stay open, and keep their folder.
  await page.evaluate(() => window.workersMade[0]?.terminate())
  const erase = () =>
    page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry("agentdb", { recursive: true }))
  await expect(erase).toPass({ intervals: [10], timeout: 4_000 })
  await expect.poll(() => codeOf(page, "get", id)).toBe("data_loss")
  await expectLoss(page)
  await page.evaluate(() => window.db.close())
  expect((await openService(page, { storage: "opfs" })).problem).toBeUndefined()
  expect(await codeOf(page, "get", id)).toBe("not_found")
})

for (const route of routes) {
  test(`a tab that takes over after site data was cleared says so, and lets a new one begin, by ${route}`, async ({
    profile,
    site,
  }) => {
    const options = { ...testing(route), storage: "opfs" } as const
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => newTab(profile, site.plain)))
    if (!first || !second || !third) throw new Error("there are three tabs")
    await openService(first, options)
    const id = await createTable(first)
    await insert(first, 1)
    for (const tab of [second, third]) {
      await openService(tab, options)
      await connectTo(tab, id)
    }
    await clearSiteData(profile, first, site.plain)
    await first.close()
    for (const tab of [second, third]) {
      await expectLoss(tab)
      for (const call of ["read", "insert", "create", "list", "get", "connect"] as const) {
        expect([call, await codeOf(tab, call, id)]).toEqual([call, "data_loss"])
      }
    }
    const late = await newTab(profile, site.plain)
    expect(await openService(late, options)).toMatchObject({ role: "leader", storage: "opfs" })
    await createTable(late)
    await insert(late, 2)
    expect(await values(late)).toEqual([2])
    expect(await codeOf(second, "list", id)).toBe("data_loss")
    for (const tab of [second, third, late]) expect(await tab.evaluate(() => window.failures)).toEqual([])
  })
}

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
