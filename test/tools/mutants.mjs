import { spawn } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { faults } from "../mutants/faults.mjs"
import { ensureInstalled } from "./install.mjs"
import { inRoot } from "./paths.mjs"

/**
 * `npm run mutants [-- words of names]`: puts one deliberate fault after another into a copy of the sources, runs the
 * suites of Node until the first test fails, and tells which. A fault that no test notices is a test that is missing.
 */
const stages = [["test/unit/server", "test/unit/wire", "test/unit/link"], ["test/unit/sqlite"], ["test/unit/fuzz"]]
/** A fault may well make a test hang. */
const stageMs = 300_000

ensureInstalled()
const words = process.argv.slice(2).map((word) => word.toLowerCase())
const chosen = faults.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word)),
)
const broken = chosen.filter((fault) => read(fault.file).split(fault.find).length !== 2)
for (const { name, file, find } of broken) console.error(`"${name}": ${file} does not hold, exactly once: ${find}`)
if (broken.length > 0 || chosen.length === 0) {
  console.error(`${broken.length} of ${chosen.length} faults cannot be made: bring test/mutants/faults.mjs up to date`)
  process.exit(1)
}

const copy = mkdtempSync(join(tmpdir(), "agentdb-mutants-"))
process.on("exit", () => rmSync(copy, { recursive: true, force: true }))
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.on(signal, () => process.exit(1))
for (const name of ["src", "test", "proto", "package.json", "tsconfig.json", "playwright.config.ts"]) {
  cpSync(inRoot(name), join(copy, name), { recursive: true })
}
symlinkSync(inRoot("node_modules"), join(copy, "node_modules"), "dir")

const before = await firstFailure()
if (before !== undefined) {
  console.error(`without any fault there is a failure already: ${before}`)
  process.exit(1)
}

const survivors = []
for (const [index, { name, file, find, put }] of chosen.entries()) {
  const started = Date.now()
  const source = read(file)
  // A function, since a replacement may hold a dollar.
  writeFileSync(
    join(copy, file),
    source.replace(find, () => put),
  )
  const caught = await firstFailure()
  writeFileSync(join(copy, file), source)
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
    cwd: copy,
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

/** @param {string} file */
function read(file) {
  return readFileSync(inRoot(file), "utf8")
}
