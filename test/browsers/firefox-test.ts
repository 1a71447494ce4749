import { test as base } from "@playwright/test"
import type { Browser } from "puppeteer-core"
import { FirefoxContext, launchFirefox } from "./firefox.ts"

/** Playwright's test with a `page` of Firefox: each test's has a store of its own, in one browser for all. */
export const test: typeof base = base.extend<object, { firefox: Browser }>({
  firefox: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from its pattern
    async ({}, use) => {
      const browser = await launchFirefox()
      await use(browser)
      await browser.close()
    },
    { scope: "worker" },
  ],
  context: async ({ firefox }, use) => {
    const context = await FirefoxContext.fresh(firefox)
    await use(context)
    await context.close()
  },
  page: async ({ context }, use) => use(await context.newPage()),
})
