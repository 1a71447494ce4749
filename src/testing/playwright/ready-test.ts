import type * as playwright from "@playwright/test"
import { optionalPackage } from "../../node/optional-package.ts"
import { type AgentDBFixtures, agentdbFixtures } from "./fixtures.ts"

type Test = playwright.TestType<
  playwright.PlaywrightTestArgs & playwright.PlaywrightTestOptions & AgentDBFixtures,
  playwright.PlaywrightWorkerArgs & playwright.PlaywrightWorkerOptions
>

// Not imported, so that `routeAgentDB` serves those, too, who have Playwright's library only.
const runner = optionalPackage<typeof playwright>("@playwright/test")

function missing(): never {
  throw new Error("agentdb-web/playwright: install @playwright/test to use its `test` and `expect`")
}

/** Playwright's `test` with the fixture `agentdb`. */
export const test: Test = runner ? runner.test.extend<AgentDBFixtures>(agentdbFixtures) : (missing as unknown as Test)

/** Playwright's own. */
export const expect: typeof playwright.expect = runner
  ? runner.expect
  : (missing as unknown as typeof playwright.expect)
