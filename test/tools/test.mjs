import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { ensureInstalled } from "./install.mjs"
import { cache } from "./paths.mjs"
import { runModuleInForeground } from "./run.mjs"

const args = process.argv.slice(2)
const countFile = join(cache, `count-of-${process.pid}`)

// The last line counts, whatever happened.
process.on("exit", (code) => {
  if (code !== 0 && !hasCounted()) console.log("\n0 passed, 1 failed")
  rmSync(countFile, { force: true })
})

ensureInstalled()
const { ensureBrowser, findBrowser } = await import("./browser.mjs")
const { ensureSqlite3 } = await import("./sqlite3.mjs")
ensureSqlite3()
process.exitCode = (await ensureBrowser()) ? await runTests() : 1

function runTests() {
  process.env.AGENTDB_COUNT_FILE = countFile
  process.env.AGENTDB_BROWSER = findBrowser() ?? ""
  return runModuleInForeground("@playwright/test/cli.js", ["test", ...args])
}

function hasCounted() {
  try {
    return readFileSync(countFile, "utf8") !== ""
  } catch {
    return args.some((arg) => arg.startsWith("--reporter"))
  }
}
