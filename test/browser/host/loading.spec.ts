import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { openingFails, openService } from "./service-page.ts"

test.beforeEach(async ({ page, site }) => {
  await openHarness(page, site.plain)
})

test("a wrong wasmUrl gives an error that names it, and the next open works", async ({ page, site }) => {
  const missing = await openingFails(page, { wasmUrl: "/nowhere/sqlite3.wasm" })
  expect(missing?.message).toContain(`${site.plain}/nowhere/sqlite3.wasm`)
  const page2 = await openingFails(page, { wasmUrl: "/harness.html" })
  expect(page2?.message).toContain(`${site.plain}/harness.html`)
  await expect.poll(() => page.workers().length).toBe(0)
  expect(await openService(page)).toMatchObject({ storage: "opfs" })
})

for (const [what, workerUrl] of [
  ["is missing", "/nowhere/worker.js"],
  ["is an HTML page", "/harness.html"],
] as const) {
  test(`a workerUrl that ${what} gives an error that names it`, async ({ page, site }) => {
    const failure = await openingFails(page, { workerUrl })
    expect(failure).toMatchObject({ code: "failed_precondition" })
    expect(failure?.message).toContain(`${site.plain}${workerUrl}`)
  })
}

test("a default worker that the network refuses is named too", async ({ page }) => {
  await page.route(/worker.*\.js$/, (route) => route.abort())
  const failure = await openingFails(page, {})
  expect(failure).toMatchObject({ code: "failed_precondition" })
  expect(failure?.message).toMatch(/http:\/\/\S+worker\S*\.js/)
  expect(await page.evaluate(() => Worker.name)).toBe("Worker")
})
