import { createHash } from "node:crypto"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Locator, Page } from "@playwright/test"
import { expect } from "../fixtures/browser.ts"
import { open, rows, run, say, shot, test } from "./demo-test.ts"

const panel = (page: Page): Locator => page.locator("section[data-panel=snapshots]")
const push = (page: Page): Locator => panel(page).getByRole("button", { name: "Push to the server" })
const ended = (page: Page): Locator => panel(page).locator(".task-end")
const pushes = (page: Page): Locator => panel(page).locator(".pushes li")
const selected = (page: Page): Promise<string | null> => page.locator("tr[data-selected]").getAttribute("data-database")
const choose = (page: Page, ...files: { name: string; buffer: Buffer }[]): Promise<void> =>
  panel(page)
    .getByLabel("SQLite file")
    .setInputFiles(files.map((file) => ({ mimeType: "", ...file })))

test("a push is told, remembered, and not repeated for nothing; a pull brings it back", async ({
  page,
  demo,
}, info) => {
  const site = await demo.serve()
  await open(page, site.url)
  await expect(panel(page)).toContainText("Nothing has been pushed yet.")
  await expect(panel(page)).toContainText("The server has no snapshots yet.")
  await expect(panel(page)).toContainText("not pushed yet")
  await shot(page, info, "empty")
  await say(page, "My name is Ada")
  const id = await selected(page)

  await push(page).click()
  await expect(ended(page)).toHaveText(/^Pushed DB_\w+ at tip \d+\.$/)
  const file = await readFile(join(site.snapshots, `${id}.sqlite`))
  const sha256 = createHash("sha256").update(file).digest("hex")
  await expect(pushes(page)).toHaveText(
    new RegExp(`^pushed\\d\\d:\\d\\d, tip \\d+, \\d+ kB${id} by presignedPut ${sha256.slice(0, 12)}$`),
  )
  await expect(panel(page)).toContainText("up to date: pushed")
  await shot(page, info, "pushed")

  await push(page).click()
  await expect(ended(page)).toContainText(`Unchanged: the server has ${id} at tip`)
  await expect(pushes(page)).toHaveCount(1)
  await panel(page).getByRole("button", { name: "Push it all the same" }).click()
  await expect(ended(page)).toHaveText(/^Pushed/)
  await expect(pushes(page)).toHaveCount(2)

  await run(page, "CREATE TABLE t(x)")
  await expect(panel(page)).toContainText("1 commit since the last push")
  await page.reload()
  await expect(pushes(page)).toHaveCount(2)
  // The agent counts its starts.
  await expect(panel(page)).toContainText(/\d commits since the last push/)

  await panel(page)
    .getByRole("button", { name: `Pull ${id}.sqlite` })
    .click()
  await expect(ended(page)).toContainText(`Pulled ${id}.sqlite as DB_`)
  expect(await selected(page)).not.toBe(id)
  await expect(await rows(page, "SELECT value FROM fact")).toHaveText(["Ada"])
  await expect(page.locator("tr[data-selected] td.number")).toHaveText("1")
  await site.close()
})

test("what the server got from elsewhere is not overwritten unasked", async ({ page, demo, quiet }, info) => {
  const site = await demo.serve()
  await open(page, site.url)
  const path = join(site.snapshots, `${await selected(page)}.sqlite`)
  await writeFile(path, "somebody's")
  await push(page).click()
  await expect(ended(page)).toContainText("failed_precondition")
  await expect(pushes(page)).toContainText(["failed_precondition"])
  expect(await readFile(path, "utf8")).toBe("somebody's")
  await shot(page, info, "conflict")
  await panel(page).getByRole("button", { name: "Overwrite it" }).click()
  await expect(ended(page)).toHaveText(/^Pushed/)
  expect((await readFile(path)).subarray(0, 15).toString()).toBe("SQLite format 3")
  expect(quiet.splice(0)).toEqual([expect.stringContaining("412 (Precondition Failed)")])
  await site.close()
})

test("a push shows how far it is and can be canceled; the server keeps what it had", async ({ page, demo }, info) => {
  let isSlow = false
  const site = await demo.serve({
    // Takes the body and never answers.
    async before(request) {
      const holds = isSlow && request.method === "PUT"
      if (holds) request.resume()
      return holds
    },
  })
  await open(page, site.url)
  await push(page).click()
  await expect(ended(page)).toHaveText(/^Pushed/)
  await run(page, "CREATE TABLE big AS SELECT randomblob(3000000) AS x")
  isSlow = true
  await push(page).click()
  await expect(panel(page).getByRole("progressbar", { name: "Uploading" })).toBeVisible()
  await expect(panel(page)).toContainText(/\d MB of \d\.\d MB/)
  await expect(pushes(page).first()).toContainText("under way")
  await expect(push(page)).toBeDisabled()
  await shot(page, info, "uploading")
  await panel(page).getByRole("button", { name: "Cancel" }).click()
  await expect(ended(page)).toHaveText("Canceled. Nothing has changed.")
  await expect(pushes(page).first()).toContainText("canceled")
  await expect(push(page)).toBeEnabled()
  await expect(panel(page).getByRole("progressbar")).toBeHidden()
  expect((await readFile(join(site.snapshots, `${await selected(page)}.sqlite`))).length).toBeLessThan(3_000_000)

  isSlow = false
  await push(page).press("Enter")
  await expect(ended(page)).toHaveText(/^Pushed/)
  await site.close()
})

test("a file that is dropped becomes a database; what is none is refused with its code", async ({
  page,
  demo,
}, info) => {
  const site = await demo.serve()
  await open(page, site.url)
  await run(page, "CREATE TABLE t AS SELECT 'kept' AS x")
  const coming = page.waitForEvent("download")
  await panel(page).getByRole("button", { name: "Download" }).click()
  const download = await coming
  await expect(ended(page)).toHaveText(`Saved ${download.suggestedFilename()}.`)
  const buffer = await readFile(await download.path())

  const before = await selected(page)
  const data = await page.evaluateHandle((base64) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    const transfer = new DataTransfer()
    transfer.items.add(new File([bytes], "notes.sqlite"))
    return transfer
  }, buffer.toString("base64"))
  const zone = panel(page).locator(".drop")
  await zone.dispatchEvent("dragover", { dataTransfer: data })
  await expect(zone).toHaveAttribute("data-over")
  await shot(page, info, "dragging")
  await page.locator("h1").dispatchEvent("drop", { dataTransfer: data })
  await expect(zone).not.toHaveAttribute("data-over")
  expect(await selected(page)).toBe(before)
  await zone.dispatchEvent("drop", { dataTransfer: data })
  await expect(ended(page)).toContainText("Restored notes.sqlite as DB_")
  expect(await selected(page)).not.toBe(before)
  await expect(await rows(page, "SELECT x FROM t")).toHaveText(["kept"])
  await shot(page, info, "restored")

  const refused = async (code: string, ...files: Buffer[]) => {
    await choose(page, ...files.map((buffer, index) => ({ name: `file-${index}`, buffer })))
    await expect(ended(page).getByRole("alert").locator("code")).toHaveText(code)
    await expect(page.locator("tr[data-database]")).toHaveCount(2)
    await choose(page, { name: "t.sqlite-shm", buffer: Buffer.of(1) })
    await expect(ended(page)).toContainText("choose the database's main file")
  }
  await refused("invalid_argument", Buffer.alloc(0))
  await refused("invalid_argument", gzipSync(buffer))
  await refused("invalid_argument", buffer, buffer)
  await refused("data_loss", buffer.subarray(0, buffer.length / 2))
  await shot(page, info, "refused")
  await site.close()
})

test("a server that keeps no snapshots, or is gone, is told; all else works", async ({ page, demo, quiet }, info) => {
  const plain = await demo.serve({ before: "no store" })
  await open(page, plain.url)
  await expect(panel(page)).toContainText("This server keeps no snapshots.")
  await expect(push(page)).toBeDisabled()
  await shot(page, info, "no-store")
  await plain.close()
  expect(quiet.splice(0)).toEqual([expect.stringContaining("404")])

  const site = await demo.serve()
  await open(page, site.url)
  await site.close()
  await push(page).click()
  await expect(panel(page).getByRole("button", { name: "Cancel" })).toBeVisible()
  await panel(page).getByRole("button", { name: "Cancel" }).click()
  await expect(ended(page)).toHaveText("Canceled. Nothing has changed.")
  await expect(panel(page)).toContainText("can't be reached")
  await shot(page, info, "gone")
  quiet.splice(0)
})
