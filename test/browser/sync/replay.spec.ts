import type { Page } from "@playwright/test"
import { expect, openHarness, test } from "../../fixtures/browser.ts"

const fill = [
  "CREATE TABLE t(id INTEGER PRIMARY KEY, filler)",
  "CREATE INDEX by_filler ON t(filler)",
  "CREATE TRIGGER grown AFTER INSERT ON t WHEN new.id > 3000000 BEGIN SELECT RAISE(ABORT, 'full'); END",
  "WITH n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 5000) INSERT INTO t SELECT v, randomblob(500) FROM n",
]

/** A database of the service `agent`; gives its id. */
const made = (page: Page): Promise<string> =>
  page.evaluate(async (statements) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ name: "agent" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    for (const statement of statements) await db.exec(statement)
    await db.close()
    return databaseId
  }, fill)

/** Ids and content hashes of the databases of a service. */
const databases = (page: Page, name: string): Promise<Record<string, string>> =>
  page.evaluate(async (name) => {
    const { openAgentDB, sync } = window.agentdbWeb
    const agentdb = await openAgentDB({ name })
    const found: Record<string, string> = {}
    for (const { databaseId } of (await agentdb.listDatabases()).databases) {
      const db = await agentdb.connect(databaseId)
      found[databaseId] = (await sync.contentHash(db)).sha256
      await db.close()
    }
    return found
  }, name)

const pushed = (page: Page, databaseId: string) =>
  page.evaluate(async (databaseId) => {
    const { openAgentDB, sync } = window.agentdbWeb
    const [from, service] = await Promise.all([openAgentDB({ name: "agent" }), openAgentDB({ name: "cloud" })])
    const to = sync.replay({ service, connect: (id) => service.connect(id), target: "cloud" })
    return sync.pushSnapshot({ from, databaseId, to })
  }, databaseId)

const changesPushed = (page: Page, databaseId: string) =>
  page.evaluate(async (databaseId) => {
    const { openAgentDB, sync } = window.agentdbWeb
    const [from, service] = await Promise.all([openAgentDB({ name: "agent" }), openAgentDB({ name: "cloud" })])
    const to = { service, connect: (id: string) => service.connect(id), target: "cloud" }
    try {
      return await sync.pushChanges({ from, databaseId, to })
    } catch (error) {
      const { code, conflicts } = error as InstanceType<typeof sync.PushConflict>
      return { code, conflicts }
    }
  }, databaseId)

const exec = (page: Page, name: string, databaseId: string, sql: string): Promise<void> =>
  page.evaluate(
    async ({ name, databaseId, sql }) => {
      const agentdb = await window.agentdbWeb.openAgentDB({ name })
      const db = await agentdb.connect(databaseId)
      await db.exec(sql)
      await db.close()
    },
    { name, databaseId, sql },
  )

test("replay between two services of one browser, offline; nothing else is left, and an unchanged one is not pushed", async ({
  page,
  context,
  site,
}) => {
  await openHarness(page, site.plain)
  const databaseId = await made(page)
  await databases(page, "cloud")
  await context.setOffline(true)
  const result = await pushed(page, databaseId)
  expect(result).toMatchObject({ sink: "replay", target: "cloud", sourceId: databaseId, pushed: true })
  expect(await databases(page, "agent")).toEqual({ [databaseId]: result.sha256 })
  expect(await databases(page, "cloud")).toEqual({ [result.databaseId as string]: result.sha256 })
  expect(await pushed(page, databaseId)).toEqual({ ...result, pushed: false })
})

test("a browser that is killed in mid-push leaves one whole database after the next", async ({ profile, site }) => {
  const page = await profile.open(site.plain)
  const databaseId = await made(page)
  const before = await databases(page, "agent")
  await page.evaluate((databaseId) => {
    const { openAgentDB, sync } = window.agentdbWeb
    const run = async () => {
      const [from, service] = await Promise.all([openAgentDB({ name: "agent" }), openAgentDB({ name: "cloud" })])
      const to = sync.replay({ service, connect: (id) => service.connect(id), target: "cloud" })
      const onProgress = ({ phase, doneBytes }: { phase: string; doneBytes: number }) => {
        if (phase === "uploading" && doneBytes > 500_000) document.title = "under way"
      }
      await sync.pushSnapshot({ from, databaseId, to, onProgress })
    }
    void run()
  }, databaseId)
  await page.waitForFunction(() => document.title === "under way")
  await profile.kill()
  await profile.launch()
  const again = await profile.open(site.plain)
  const result = await pushed(again, databaseId)
  expect(await databases(again, "cloud")).toEqual({ [result.databaseId as string]: result.sha256 })
  expect((await databases(again, "agent"))[databaseId]).toBe(before[databaseId])
  expect(result.sha256).toBe(before[databaseId])
})

test("pushChanges: a snapshot first, then rows, across a kill; a conflict; a changed schema", async ({
  profile,
  site,
}) => {
  let page = await profile.open(site.plain)
  const databaseId = await made(page)
  const first = await changesPushed(page, databaseId)
  expect(first).toMatchObject({ mode: "snapshot", reason: "nothing was pushed before" })
  const target = (first as { databaseId: string }).databaseId
  expect(await changesPushed(page, databaseId)).toMatchObject({ mode: "unchanged", databaseId: target })

  await exec(page, "agent", databaseId, "UPDATE t SET filler = 'mine' WHERE id <= 10")
  await profile.kill()
  await profile.launch()
  page = await profile.open(site.plain)
  await exec(page, "agent", databaseId, "DELETE FROM t WHERE id = 11")
  expect(await changesPushed(page, databaseId)).toMatchObject({ mode: "changes", rows: 11, databaseId: target })
  expect((await databases(page, "cloud"))[target]).toBe((await databases(page, "agent"))[databaseId])

  await exec(page, "cloud", target, "UPDATE t SET filler = 'theirs' WHERE id = 5")
  await exec(page, "agent", databaseId, "UPDATE t SET filler = 'mine too' WHERE id IN (4, 5)")
  const theirs = (await databases(page, "cloud"))[target]
  const conflict = { table: "t", kind: "update", key: [5n] }
  expect(await changesPushed(page, databaseId)).toEqual({ code: "aborted", conflicts: [conflict] })
  expect((await databases(page, "cloud"))[target]).toBe(theirs)

  await exec(page, "agent", databaseId, "ALTER TABLE t ADD COLUMN more")
  expect(await changesPushed(page, databaseId)).toMatchObject({ mode: "snapshot", reason: "the schema changed" })
  // The database and the copy of what was pushed last.
  expect(Object.keys(await databases(page, "agent"))).toHaveLength(2)
})
