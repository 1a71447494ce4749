import type { Page } from "@playwright/test"
import { leaving } from "../client-suite/cases/leaving.ts"
import { stopping } from "../client-suite/cases/stopping.ts"
import { suite } from "../client-suite/suite.ts"
import { test } from "../fixtures/browser.ts"
import { engine } from "../fixtures/engine-name.ts"
import { Profile } from "../fixtures/profile.ts"

/** Cancels travel by shared memory where a page is isolated; for everything else one origin is as good as another. */
const groupsOn = {
  plain: suite,
  isolated: [leaving, stopping],
}

for (const origin of ["plain", "isolated"] as const) {
  test.describe(`agentdb.connect on a ${origin} origin`, () => {
    let profile: Profile
    let page: Page

    // One page for all: a case has a service of its own in it.
    test.beforeAll(async ({ site }) => {
      profile = await Profile.create()
      page = await profile.context.newPage()
      await page.goto(`${site[origin]}/client-suite.html${engine === "webkitgtk" ? "?storage=memory" : ""}`)
      await page.waitForFunction(() => window.runClientCase !== undefined)
    })

    test.afterAll(async () => {
      await profile.remove()
    })

    for (const { name: group, cases } of groupsOn[origin]) {
      for (const { name } of cases) {
        test(`${group}: ${name}`, async () => {
          const needsTailCalls = name.startsWith("C47") || name.startsWith("the stack of")
          test.skip(
            engine === "webkitgtk" && needsTailCalls,
            "JavaScriptCore leaves the frames of tail calls out of stacks",
          )
          await page.evaluate(([group, name]) => window.runClientCase(group, name), [group, name] as const)
        })
      }
    }
  })
}
