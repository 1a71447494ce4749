import { test as base } from "@playwright/test"
import { WebKitContext } from "./webkitgtk.ts"

/** Playwright's test with a `page` of WebKitGTK, each in a browser of its own. */
export const test: typeof base = base.extend({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from its pattern
  context: async ({}, use) => {
    const context = await WebKitContext.launch()
    await use(context)
    await context.close()
  },
  page: async ({ context }, use) => use(await context.newPage()),
})
