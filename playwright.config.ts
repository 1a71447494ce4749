import { defineConfig } from "@playwright/test"
import { chromiumLaunch } from "./test/fixtures/chromium.ts"

export default defineConfig({
  workers: 2,
  timeout: 60_000,
  retries: 0,
  forbidOnly: Boolean(process.env["CI"]),
  fullyParallel: false,
  reporter: [["list"], ["./test/tools/summary-reporter.ts"]],
  use: { browserName: "chromium", launchOptions: chromiumLaunch },
  projects: [
    { name: "node", testDir: "test/unit", testMatch: "**/*.spec.ts" },
    { name: "build", testDir: "test/browser", testMatch: "build.setup.ts" },
    { name: "chromium", testDir: "test/browser", testMatch: "**/*.spec.ts", dependencies: ["build"] },
  ],
})
