import { type BrowserContext, chromium } from "@playwright/test"
import { test as base, expect, openHarness } from "../../fixtures/browser.ts"
import { chromiumLaunch } from "../../fixtures/chromium.ts"
import { engine } from "../../fixtures/engine-name.ts"
import { connectTo, createTable, insert, openService, values } from "./service-page.ts"

/** Playwright turns the back/forward cache off; people have it on. */
const test = base.extend<{ cached: BrowserContext }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from its pattern
  cached: async ({}, use) => {
    const browser = await chromium.launch({ ...chromiumLaunch, ignoreDefaultArgs: ["--disable-back-forward-cache"] })
    await use(await browser.newContext())
    await browser.close()
  },
})

test.skip(engine !== "chromium", "the back/forward cache is Chromium's here; other drivers turn it off")

test("a page that was put away and shown again goes on where it was", async ({ cached, site }) => {
  const page = await openHarness(await cached.newPage(), site.plain)
  await openService(page)
  await createTable(page)
  await insert(page, 1)
  await page.evaluate(() => {
    window.failures = []
    addEventListener("pageshow", (event) => window.failures.push(`persisted: ${event.persisted}`))
  })
  await openHarness(page, site.isolated)
  // Playwright waits for a load that never comes.
  await page.goBack({ waitUntil: "commit" })
  await expect.poll(() => page.evaluate(() => window.failures)).toEqual(["persisted: true"])
  await insert(page, 2)
  expect(await values(page)).toEqual([1, 2])
})

test("a page that was put away gives the name to the next page of its origin", async ({ cached, site }) => {
  const page = await openHarness(await cached.newPage(), site.plain)
  await openService(page)
  const id = await createTable(page)
  await insert(page, 1)
  await page.goto(`${site.plain}/harness.html?next`)
  await page.waitForFunction(() => window.agentdbWeb !== undefined)
  await openService(page)
  await connectTo(page, id)
  expect(await values(page)).toEqual([1])
})
