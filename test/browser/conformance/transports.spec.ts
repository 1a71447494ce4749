import type { BrowserContext, Page } from "@playwright/test"
import { route } from "../../../src/testing/playwright/route.ts"
import { keys, smallLimits } from "../../conformance/targets.ts"
import { isWhole, title, verdict } from "../../conformance/verdict.ts"
import { test } from "../../fixtures/browser.ts"
import { startServer } from "../../fixtures/node-server.ts"
import { nodeWorker } from "../../tools/node-worker.mjs"

type Way = Parameters<Window["runConformance"]>[0]

async function run(page: Page, origin: string, transport: string, way: Way): Promise<void> {
  await page.goto(`${origin}/conformance.html`)
  await page.waitForFunction(() => window.runConformance !== undefined)
  const results = await page.evaluate(([way, whole]) => window.runConformance(way, whole), [way, isWhole] as const)
  verdict(transport, results)
}

const service = { keys, limits: smallLimits }

/** What each transport needs beside the page. */
const transports: Record<string, (context: BrowserContext) => Promise<{ way: Way } & AsyncDisposable>> = {
  "a MessagePort in Chromium": async () => ({ way: "port", async [Symbol.asyncDispose]() {} }),
  "the WebSocket stand-in in Chromium": async () => ({ way: "stand-in", async [Symbol.asyncDispose]() {} }),
  "a WebSocket from Chromium to the Node server": async () => {
    const { url, wsUrl, close } = await startServer(service)
    return { way: { url, wsUrl }, [Symbol.asyncDispose]: close }
  },
  "Playwright routing": async (context) => {
    const routed = await route(context, { url: "wss://agents.example.test/db", ...service }, await nodeWorker())
    const { url, wsUrl } = routed
    return { way: { url, wsUrl }, [Symbol.asyncDispose]: () => routed.close() }
  },
}

for (const [transport, start] of Object.entries(transports)) {
  test(title(transport), async ({ profile, site }) => {
    test.setTimeout(600_000)
    await using target = await start(profile.context)
    await run(await profile.context.newPage(), site.plain, transport, target.way)
  })
}
