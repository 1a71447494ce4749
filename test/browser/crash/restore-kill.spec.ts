import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import type { Profile } from "../../fixtures/profile.ts"
import { closeService, expectNothingLeftBehind, openAll, rowsOf } from "./after-kill.ts"
import { removeExtras } from "./ledger.ts"
import { listen } from "./report.ts"

const rows = 40_000

/** A database of 20 MB and a dump of it as a file of the page; gives its id. */
function prepare(page: Page): Promise<string> {
  return page.evaluate(async (rows) => {
    window.service = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const { databaseId } = await window.service.createDatabase()
    const db = await window.service.connect(databaseId)
    await db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
    await db.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
       INSERT INTO t SELECT i, randomblob(500) FROM n`,
    )
    await db.close()
    return databaseId
  }, rows)
}

/** Restores a dump of the database, and reports each piece of progress as a share. */
function restore(page: Page, databaseId: string): Promise<string> {
  return page.evaluate(async (databaseId) => {
    const { downloadUrl } = await window.service.dumpDatabase(databaseId)
    const file = await (await fetch(downloadUrl)).blob()
    const restored = await window.service.restoreDatabase(file, {
      onProgress: ({ bytes, totalBytes }) => void window.report("progress", { share: bytes / totalBytes }),
    })
    return restored.databaseId
  }, databaseId)
}

/** Kills the browser once so much of a copy is restored. @returns a page of the next start */
async function killAt(profile: Profile, url: string, page: Page, databaseId: string, part: number): Promise<Page> {
  let reach = () => {}
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  await listen(page, (_, { share }) => {
    if (Number(share) >= part) reach()
  })
  const restoring = restore(page, databaseId).catch(() => undefined)
  await reached
  await profile.kill()
  await restoring
  await profile.launch()
  return profile.open(url)
}

for (const [when, part] of [
  ["halfway through a restore", 0.5],
  ["in the check at the end of a restore", 1],
] as const) {
  test(`a browser that is killed ${when} leaves nothing of it, and it can be done again`, async ({ profile, site }) => {
    let page = await profile.open(site.plain)
    const databaseId = await prepare(page)
    // A kill may come after the end; then all of it is there.
    let found: string[] = []
    for (let round = 1; round <= 10 && found.length !== 1; round++) {
      page = await killAt(profile, site.plain, page, databaseId, part)
      found = (await openAll(page)).databases.map(({ id }) => id)
      for (const id of found) expect(await rowsOf(page, id, "SELECT count(*) FROM t")).toEqual([[rows]])
      await expectNothingLeftBehind(page, found, "after the kill")
      await removeExtras(page, databaseId, "after the kill")
    }
    expect(found).toEqual([databaseId])

    await listen(page, () => {})
    const restored = await restore(page, databaseId)
    expect(await rowsOf(page, restored, "SELECT count(*), sum(length(x)) FROM t")).toEqual([[rows, rows * 500]])
    await expectNothingLeftBehind(page, [databaseId, restored], "after another restore")
    await closeService(page)
  })
}
