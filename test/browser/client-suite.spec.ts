import type { BrowserContext, Page } from "@playwright/test"
import { route } from "../../src/testing/playwright/route.ts"
import { leaving } from "../client-suite/cases/leaving.ts"
import { stopping } from "../client-suite/cases/stopping.ts"
import type { Case, Group } from "../client-suite/context.ts"
import { suite } from "../client-suite/suite.ts"
import { suiteTests } from "../client-suite/suite-tests.ts"
import { isWhole } from "../conformance/verdict.ts"
import { test } from "../fixtures/browser.ts"
import { engine } from "../fixtures/engine-name.ts"
import { nodeServices } from "../fixtures/node-server.ts"
import { Profile } from "../fixtures/profile.ts"
import { SuiteServices } from "../fixtures/suite-services.ts"
import { nodeWorker } from "../tools/node-worker.mjs"

interface PageTransport {
  readonly name: string
  readonly origin?: "plain" | "isolated"
  readonly groups?: readonly Group[]
  readonly way: "port" | "stand-in" | ((context: BrowserContext) => SuiteServices)
}

const browser = { chromium: "Chromium", firefox: "Firefox", webkitgtk: "WebKitGTK" }[engine]

const transports: readonly PageTransport[] = [
  { name: `a MessagePort in ${browser}`, way: "port" },
  // Cancels travel by shared memory there; for everything else one origin is as good as another.
  {
    name: "a MessagePort in an isolated page",
    origin: "isolated",
    way: "port",
    groups: isWhole ? suite : [leaving, stopping],
  },
  { name: `the WebSocket stand-in in ${browser}`, way: "stand-in" },
  { name: `a WebSocket from ${browser} to the Node server`, way: nodeServices },
  { name: "Playwright routing", way: routedServices },
]

/** Each at an address of its own. */
function routedServices(context: BrowserContext): SuiteServices {
  let count = 0
  return new SuiteServices(async (limits) => {
    const url = `wss://agents-${++count}.example.test/db`
    return route(context, { url, limits }, await nodeWorker())
  })
}

function cannot(way: PageTransport["way"], { name }: Case): string | undefined {
  if (way === routedServices && engine !== "chromium")
    return "Playwright routes pages of browsers that it drives itself"
  const needsTailCalls = name.startsWith("C47") || name.startsWith("the stack of")
  return engine === "webkitgtk" && needsTailCalls
    ? "JavaScriptCore leaves the frames of tail calls out of stacks"
    : undefined
}

for (const { name, origin = "plain", groups = suite, way } of transports) {
  test.describe(() => {
    let profile: Profile
    let page: Page
    let services: SuiteServices | undefined

    // One page for all: a case has a database of its own in it.
    test.beforeAll(async ({ site }) => {
      profile = await Profile.create()
      services = typeof way === "function" ? way(profile.context) : undefined
      page = await profile.context.newPage()
      await page.goto(`${site[origin]}/client-suite.html${engine === "webkitgtk" ? "?storage=memory" : ""}`)
      await page.waitForFunction(() => window.runClientCase !== undefined)
    })

    test.afterAll(async () => {
      await profile.remove()
      await services?.close()
    })

    suiteTests(test, {
      name,
      groups,
      cannot: (item) => cannot(way, item),
      async run(group, { name, limits = {} }) {
        const served = await services?.database(limits)
        const { wsUrl, databaseId } = served ?? {}
        const at = wsUrl && databaseId ? { wsUrl, databaseId } : way === "stand-in" ? way : "port"
        await page.evaluate(([group, name, at]) => window.runClientCase(group, name, at), [group, name, at] as const)
        await served?.close()
      },
    })
  })
}
