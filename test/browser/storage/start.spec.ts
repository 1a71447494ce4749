import type { Page } from "@playwright/test"
import { expect, openHarness, opfsTree, test } from "../../fixtures/browser.ts"
import { connectTo, createTable, openingFails, openService } from "../host/service-page.ts"

/** Another worker holds a file, as one that is about to die does. The returned function ends it. */
async function hold(page: Page, path: string[]): Promise<() => Promise<void>> {
  await page.evaluate(async (path) => {
    const source = `onmessage = async ({ data: path }) => {
      let folder = await navigator.storage.getDirectory()
      for (const name of path.slice(0, -1)) folder = await folder.getDirectoryHandle(name)
      self.held = await (await folder.getFileHandle(path.at(-1))).createSyncAccessHandle()
      postMessage("held")
    }`
    const worker = new Worker(URL.createObjectURL(new Blob([source])))
    Object.assign(window, { holder: worker })
    await new Promise((resolve) => {
      worker.onmessage = resolve
      worker.postMessage(path)
    })
  }, path)
  return () => page.evaluate(() => (window as unknown as { holder: Worker }).holder.terminate())
}

const write = (page: Page) =>
  page.evaluate(() =>
    window.connection.exec(
      "INSERT INTO t WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<500) SELECT n FROM c",
    ),
  )

for (const file of ["data.sqlite", "data.sqlite-wal", "meta"]) {
  test(`C33: a start while another worker holds ${file} removes and shortens nothing, and the next one finds all`, async ({
    profile,
    site,
  }) => {
    const page = await openHarness(await profile.context.newPage(), site.plain)
    await openService(page, { storage: "opfs" })
    const id = await createTable(page)
    await write(page)
    await page.evaluate(() => window.db.close())
    const before = await opfsTree(page)
    const release = await hold(page, ["agentdb", "devkey", id, file])
    await openService(page, { storage: "opfs" })
    const code = await page.evaluate(
      (id) =>
        window.db.connect(id, { reconnect: false }).then(
          () => "none",
          (error: { code: string }) => error.code,
        ),
      id,
    )
    expect(code).toBe("unavailable")
    await page.evaluate(() => window.db.close())
    expect(await opfsTree(page)).toEqual(before)
    await release()
    await openService(page, { storage: "opfs" })
    await connectTo(page, id)
    const found = await page.evaluate(async () => [
      await window.connection.query("SELECT count(*) AS n FROM t").first(),
      await window.connection.query("PRAGMA integrity_check").first(),
    ])
    expect(found).toEqual([{ n: 500 }, { integrity_check: "ok" }])
  })
}

test("data of a newer layout is refused with both versions named, and nothing is touched", async ({
  profile,
  site,
}) => {
  const page = await openHarness(await profile.context.newPage(), site.plain)
  await openService(page, { storage: "opfs" })
  await createTable(page)
  await page.evaluate(() => window.db.close())
  await page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("agentdb")
    const writable = await (await folder.getFileHandle("format")).createWritable()
    await writable.write("7")
    await writable.close()
  })
  const before = await opfsTree(page)
  const refusal = { code: "failed_precondition", message: expect.stringMatching(/format 7.*up to 1/) }
  expect(await openingFails(page, { storage: "opfs" })).toMatchObject(refusal)
  // Nor is an empty memory put in its place.
  expect(await openingFails(page, { storage: "auto" })).toMatchObject(refusal)
  expect(await opfsTree(page)).toEqual(before)
})
