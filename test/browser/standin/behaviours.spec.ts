import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import { chromiumLaunch } from "../../fixtures/chromium.ts"
import { type EchoServer, startEchoServer } from "../../fixtures/echo-server.ts"
import type { Behaviour } from "../../fixtures/pages/standin/behaviour.ts"
import { behaviours } from "../../fixtures/pages/standin/behaviours.ts"

test.use({ launchOptions: { ...chromiumLaunch, args: [...chromiumLaunch.args, "--js-flags=--expose-gc"] } })

let server: EchoServer
let page: Page

test.beforeAll(async ({ browser, site }) => {
  server = await startEchoServer()
  page = await browser.newPage()
  await page.goto(`${site.plain}/standin.html`)
  await page.waitForFunction(() => window.standinPage !== undefined)
})

test.afterAll(async () => {
  await page.close()
  await server[Symbol.asyncDispose]()
})

for (const [group, members] of Object.entries(behaviours)) {
  for (const { name, expected, chromium = expected } of members as readonly Behaviour[]) {
    test(`${group}: ${name}`, async () => {
      for (const make of ["browser", "stand-in", "installed", "passed on"] as const) {
        const seen = await page.evaluate(
          ([make, group, name, url]) => window.standinPage.observe(make, group, name, url),
          [make, group as keyof typeof behaviours, name, server.url] as const,
        )
        expect(seen, make).toEqual(make === "browser" || make === "passed on" ? chromium : expected)
      }
    })
  }
}
