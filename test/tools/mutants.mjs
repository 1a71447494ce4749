import { spawn } from "node:child_process"
import { faults } from "../mutants/faults.mjs"
import { ensureInstalled } from "./install.mjs"
import { chooseFaults, MutableCopy } from "./mutation.mjs"
import { inRoot } from "./paths.mjs"

/**
 * `npm run mutants [-- words of names]`: puts one deliberate fault after another into a copy of the sources, runs the
 * suites of Node until the first test fails, and tells which. A fault that no test notices is a test that is missing.
 */
const stages = [["test/unit/server", "test/unit/wire", "test/unit/link"], ["test/unit/sqlite"], ["test/unit/fuzz"]]
/** A fault may well make a test hang. */
const stageMs = 300_000

ensureInstalled()
const chosen = chooseFaults(faults, process.argv.slice(2))
const copy = new MutableCopy()

const before = await firstFailure()
if (before !== undefined) {
  console.error(`without any fault there is a failure already: ${before}`)
  process.exit(1)
}

const survivors = []
for (const [index, fault] of chosen.entries()) {
  const { name } = fault
  const started = Date.now()
  const caught = await copy.with(fault, firstFailure)
  if (caught === undefined) survivors.push(name)
  const seconds = Math.round((Date.now() - started) / 1000)
  console.log(`${index + 1}/${chosen.length}  ${name}  |  ${caught ?? "SURVIVES"}  |  ${seconds} s`)
}
console.log(`\n${chosen.length - survivors.length} of ${chosen.length} faults were caught`)
for (const name of survivors) console.log(`  survives: ${name}`)
process.exitCode = survivors.length > 0 ? 1 : 0

/** The first test that fails in the copy; undefined if none does. */
async function firstFailure() {
  for (const stage of stages) {
    const failure = await runStage(stage)
    if (failure !== undefined) return failure
  }
  return undefined
}

/** @param {string[]} suites @returns {Promise<string | undefined>} */
function runStage(suites) {
  const args = ["test", "--project=node", "--max-failures=1", "--timeout=20000", "--reporter=line", ...suites]
  const child = spawn(process.execPath, [inRoot("node_modules/@playwright/test/cli.js"), ...args], {
    cwd: copy.folder,
    env: { ...process.env, AGENTDB_FUZZ_SHRINK: "no", AGENTDB_BROWSER: "none", FORCE_COLOR: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data))
  let late = false
  const timer = setTimeout(() => {
    late = true
    child.kill("SIGKILL")
  }, stageMs)
  return new Promise((resolve) => {
    child.on("close", (code) => {
      clearTimeout(timer)
      if (code === 0) return resolve(undefined)
      const named = /^ +\d+\) \[node\] › (\S+?):\d+:\d+ › (.*?)(?: ─*)?\s*$/m.exec(output)
      const first = named
        ? `${named[1]?.replace("test/unit/", "")}: ${named[2]}`
        : output.trim().split("\n").slice(-3).join(" ")
      const seed = /\{ seed: .*? \}/.exec(output)?.[0] ?? ""
      resolve(late ? `a hang of ${stageMs / 1000} s` : `${first} ${seed}`.trim())
    })
  })
}
