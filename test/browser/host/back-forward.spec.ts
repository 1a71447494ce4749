import { type BrowserContext, chromium, type Page } from "@playwright/test"
import { test as base, expect, openHarness } from "../../fixtures/browser.ts"
import { chromiumLaunch } from "../../fixtures/chromium.ts"
import { engine } from "../../fixtures/engine-name.ts"
import { roleOf, routes, testing } from "../tabs/tab.ts"
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
  await recordShows(page)
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

for (const route of routes) {
  test(`C31 a leader that was put away has handed over, and goes on when it is shown again, by ${route}`, async ({
    cached,
    site,
  }) => {
    const first = await openHarness(await cached.newPage(), site.plain)
    await openService(first, testing(route))
    const id = await createTable(first)
    await insert(first, 1)
    const second = await openHarness(await cached.newPage(), site.plain)
    await openService(second, testing(route))
    await connectTo(second, id)
    await recordShows(first)
    await openHarness(first, site.isolated)
    await expect.poll(() => roleOf(second)).toBe("leader")
    await insert(second, 2)
    await first.goBack({ waitUntil: "commit" })
    await expect.poll(() => first.evaluate(() => window.failures)).toEqual(["persisted: true"])
    expect(await values(first)).toEqual([1, 2])
    expect(await roleOf(first)).toBe("follower")
    await insert(first, 3)
    // A follower goes and comes back in the same way.
    await openHarness(first, site.isolated)
    await insert(second, 4)
    await first.goBack({ waitUntil: "commit" })
    await expect.poll(() => first.evaluate(() => window.failures)).toEqual(["persisted: true", "persisted: true"])
    expect(await values(first)).toEqual([1, 2, 3, 4])
  })
}

async function recordShows(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.failures = []
    addEventListener("pageshow", (event) => window.failures.push(`persisted: ${event.persisted}`))
  })
}
