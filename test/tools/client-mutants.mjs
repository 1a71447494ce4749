import { spawn } from "node:child_process"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { clientFaults } from "../mutants/client-faults.mjs"
import { ensureInstalled } from "./install.mjs"
import { chooseFaults, MutableCopy } from "./mutation.mjs"
import { inRoot } from "./paths.mjs"

/**
 * `npm run mutants:clients [-- words of names]`: puts one deliberate fault after another into a copy of the stand-ins
 * and the Node server, runs the tests with clients that others made (those tagged `@client:name`), and prints which of
 * them fail, as a table. A fault that no client notices, or a client that notices none, is a test that is missing.
 */
const marker = "@client:"
/** A fault may well make a test hang. */
const runMs = 300_000

ensureInstalled()
const { ensureBrowser, findBrowser } = await import("./browser.mjs")
if (!(await ensureBrowser())) process.exit(1)
const words = process.argv.slice(2)
const chosen = chooseFaults(clientFaults, words)
const copy = new MutableCopy()
const report = join(copy.folder, "report.json")

const sound = await runClients()
const clients = [...sound.keys()].sort().filter((client) => sound.get(client) !== "skipped")
for (const [client, outcome] of sound) if (outcome === "skipped") console.log(`${client} is skipped here`)
const unsound = clients.filter((client) => sound.get(client) === "failed")
if (unsound.length > 0 || clients.length === 0) {
  console.error(`without any fault these fail already: ${unsound.join(", ") || "there are no tests"}`)
  process.exit(1)
}

const noticing = new Set()
const survivors = []
console.log(row("fault", clients))
console.log(
  row(
    "---",
    clients.map(() => "---"),
  ),
)
for (const fault of chosen) {
  const seen = await copy.with(fault, runClients)
  const failing = clients.filter((client) => seen.get(client) !== "passed")
  for (const client of failing) noticing.add(client)
  if (failing.length === 0) survivors.push(fault.name)
  console.log(
    row(
      fault.name,
      clients.map((client) => (failing.includes(client) ? "FAILS" : "")),
    ),
  )
}
const blind = clients.filter((client) => !noticing.has(client))
console.log(`\n${chosen.length - survivors.length} of ${chosen.length} faults were noticed by a client`)
for (const name of survivors) console.log(`  nobody notices: ${name}`)
if (words.length === 0) for (const client of blind) console.log(`  notices nothing: ${client}`)
process.exitCode = survivors.length > 0 || (words.length === 0 && blind.length > 0) ? 1 : 0

/**
 * What became of each client's tests in the copy. Without a report, as where the fault stops the build, none passes.
 * @returns {Promise<Map<string, "passed" | "failed" | "skipped">>}
 */
async function runClients() {
  rmSync(report, { force: true })
  const args = ["test", "--grep", marker, "--timeout=30000", "--reporter=json"]
  const child = spawn(process.execPath, [inRoot("node_modules/@playwright/test/cli.js"), ...args], {
    cwd: copy.folder,
    env: { ...process.env, PLAYWRIGHT_JSON_OUTPUT_FILE: report, AGENTDB_BROWSER: findBrowser() ?? "" },
    stdio: ["ignore", "ignore", "inherit"],
  })
  const timer = setTimeout(() => child.kill("SIGTERM"), runMs)
  await new Promise((resolve) => child.on("close", resolve))
  clearTimeout(timer)
  return existsSync(report) ? outcomes(JSON.parse(readFileSync(report, "utf8")).suites) : new Map()
}

/**
 * @typedef {{ tags: string[], tests: { status: string }[] }} Spec
 * @typedef {{ suites?: Suite[], specs: Spec[] }} Suite
 * @param {Suite[]} suites @returns {Map<string, "passed" | "failed" | "skipped">}
 */
function outcomes(suites) {
  const all = new Map()
  for (const { tags, tests } of suites.flatMap(specsOf)) {
    const name = tags.find((tag) => `@${tag}`.includes(marker))?.split(":")[1]
    if (!name) continue
    const statuses = tests.map(({ status }) => status)
    const outcome = statuses.includes("unexpected") ? "failed" : statuses.includes("skipped") ? "skipped" : "passed"
    // One test that fails is enough; one that did not run says nothing.
    if (!all.has(name) || outcome === "failed" || all.get(name) === "passed") all.set(name, outcome)
  }
  return all
}

/** @param {Suite} suite @returns {Spec[]} */
function specsOf({ specs, suites = [] }) {
  return [...specs, ...suites.flatMap(specsOf)]
}

/** @param {string} head @param {readonly string[]} cells */
function row(head, cells) {
  return `| ${[head, ...cells].join(" | ")} |`
}
