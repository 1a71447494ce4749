import type { Page } from "@playwright/test"
import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { closeService, expectNothingLeftBehind, openAll } from "./after-kill.ts"

/** The sizes that files have if a step of creating or deleting a database was the last one; others are not there. */
const steps: { last: string; sizes: Record<string, number> }[] = [
  { last: "creation: the folder", sizes: {} },
  { last: "creation: the first file", sizes: { meta: 0 } },
  { last: "creation: all files", sizes: { meta: 0, "data.sqlite-wal": 0, "data.sqlite": 0 } },
  { last: "creation: the first page", sizes: { meta: 0, "data.sqlite-wal": 0, "data.sqlite": 4096 } },
  { last: "creation: half of the record", sizes: { meta: 2048, "data.sqlite-wal": 0, "data.sqlite": 4096 } },
  { last: "deletion: the mark", sizes: { meta: 12_288, "data.sqlite-wal": 8192, removed: 8192 } },
  { last: "deletion: the log", sizes: { meta: 12_288, removed: 8192 } },
  { last: "deletion: the record", sizes: { removed: 8192 } },
  { last: "deletion: the data", sizes: {} },
]

/** Cuts the files of a database to these sizes, and removes the others. May be called again. */
function cutTo(page: Page, databaseId: string, sizes: Record<string, number>): Promise<void> {
  return page.evaluate(
    async ([id, sizes]) => {
      let folder = await navigator.storage.getDirectory()
      for (const name of ["agentdb", "devkey", id]) folder = await folder.getDirectoryHandle(name)
      if ("removed" in sizes) {
        const main = await folder.getFileHandle("data.sqlite").catch(() => undefined)
        await (main as unknown as { move(name: string): Promise<void> } | undefined)?.move("removed")
      }
      for await (const [name, file] of folder.entries()) {
        const size = sizes[name]
        if (size === undefined) await folder.removeEntry(name)
        else if (file instanceof FileSystemFileHandle) {
          const bytes = (await file.getFile()).slice(0, size)
          const writable = await file.createWritable()
          await writable.write(bytes)
          await writable.close()
        }
      }
    },
    [databaseId, sizes] as const,
  )
}

for (const end of ["closed", "crashed"] as const) {
  test(`whatever step of a creation or a deletion was the last, the next start undoes or ends it (service ${end})`, async ({
    page,
    site,
  }) => {
    await openHarness(page, site.plain)
    const wrote = [true, ...steps.map(({ last }) => last.startsWith("deletion"))]
    const [kept = "", ...cut] = await page.evaluate(async (wrote) => {
      window.service = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      const ids: string[] = []
      for (const hasTable of wrote) {
        const { databaseId } = await window.service.createDatabase()
        ids.push(databaseId)
        if (!hasTable) continue
        const db = await window.service.connect(databaseId)
        await db.exec("CREATE TABLE t(x)")
      }
      return ids
    }, wrote)
    // A crash leaves the databases marked as open.
    if (end === "closed") await closeService(page)
    await page.reload()
    await page.waitForFunction(() => window.agentdbWeb !== undefined)
    for (const [i, { sizes }] of steps.entries()) {
      // The old worker's handles are let go after some moments.
      await expect(() => cutTo(page, cut[i] ?? "", sizes)).toPass({ timeout: 10_000 })
    }
    const { databases } = await openAll(page)
    const left = steps.filter((_, i) => databases.some(({ id }) => id === cut[i]))
    expect(left.map(({ last }) => last)).toEqual([])
    expect(databases).toEqual([{ id: kept, tip: 1, integrity: [["ok"]] }])
    await expectNothingLeftBehind(page, [kept], "after a start")
    await closeService(page)
  })
}
