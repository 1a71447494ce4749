import { defineConfig } from "@playwright/test"
import { engine } from "../fixtures/engine-name.ts"

/** What runs in engines other than Chromium: the same specs as far as they go. */
const specs: Record<string, { testDir: string; testMatch: string[] }> = {
  firefox: {
    testDir: "../browser",
    testMatch: ["client-suite.spec.ts", "{data-plane,host,storage,crash,tabs,conformance}/*.spec.ts"],
  },
  webkitgtk: {
    testDir: "..",
    testMatch: ["browser/client-suite.spec.ts", "browser/host/service.spec.ts", "browsers/memory.spec.ts"],
  },
}

const chosen = specs[engine]
if (!chosen) throw new Error(`AGENTDB_ENGINE must be one of ${Object.keys(specs).join(", ")}`)

export default defineConfig({
  workers: 2,
  // Firefox is slower than Chromium at almost everything.
  timeout: 120_000,
  retries: 0,
  reporter: [["list"], ["../tools/summary-reporter.ts"]],
  projects: [
    { name: "build", testDir: "../browser", testMatch: "build.setup.ts" },
    { name: engine, ...chosen, dependencies: ["build"] },
  ],
})
