import type { Page } from "@playwright/test"
import { suite } from "../client-suite/suite.ts"
import { test } from "../fixtures/browser.ts"
import { Profile } from "../fixtures/profile.ts"

for (const origin of ["plain", "isolated"] as const) {
  test.describe(`agentdb.connect on a ${origin} origin`, () => {
    let profile: Profile
    let page: Page

    // One page for all: a case has a service of its own in it.
    test.beforeAll(async ({ site }) => {
      profile = await Profile.create()
      page = await profile.context.newPage()
      await page.goto(`${site[origin]}/client-suite.html`)
      await page.waitForFunction(() => window.runClientCase !== undefined)
    })

    test.afterAll(async () => {
      await profile.remove()
    })

    for (const { name: group, cases } of suite) {
      for (const { name } of cases) {
        test(`${group}: ${name}`, async () => {
          await page.evaluate(([group, name]) => window.runClientCase(group, name), [group, name] as const)
        })
      }
    }
  })
}
