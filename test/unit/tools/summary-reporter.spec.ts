import { spawn } from "node:child_process"
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "@playwright/test"
import { inRoot } from "../../tools/paths.mjs"

let folder = ""
test.beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentdb-reporter-"))
  await symlink(inRoot("node_modules"), join(folder, "node_modules"), "junction")
})
test.afterEach(() => rm(folder, { recursive: true }))

/** Runs a suite of one file with the reporter. @returns what it printed, line by line, and its exit code */
async function runSuite(body: string): Promise<{ lines: string[]; code: number | null }> {
  await writeFile(join(folder, "a.spec.ts"), `import { expect, test } from "@playwright/test"\n${body}`)
  const config = join(folder, "playwright.config.ts")
  const reporter = inRoot("test/tools/summary-reporter.ts")
  await writeFile(config, `export default { testDir: ".", reporter: [["list"], [${JSON.stringify(reporter)}]] }\n`)
  const env: NodeJS.ProcessEnv = { ...process.env }
  // What the run that this is part of has set for its own workers.
  for (const name of Object.keys(env)) if (/^(TEST_|PW|PLAYWRIGHT_|AGENTDB_COUNT)/.test(name)) delete env[name]
  const cli = inRoot("node_modules/@playwright/test/cli.js")
  const child = spawn(process.execPath, [cli, "test", "--config", config], { cwd: folder, env })
  let output = ""
  child.stdout.on("data", (data) => {
    output += data
  })
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve))
  return { lines: output.trimEnd().split("\n"), code }
}

test("the last line has the true counts, and the reasons for skipping come before it", async () => {
  const { lines, code } = await runSuite(`
    test("good", () => {})
    test("also good", () => {})
    test("bad", () => expect(1).toBe(2))
    test("not here", () => test.skip(true, "no such disk"))
    test.skip("never", () => {})
  `)
  expect(lines.at(-1)).toBe("2 passed, 1 failed, 2 skipped")
  expect(lines.slice(lines.indexOf("Skipped:"), -2)).toEqual([
    "Skipped:",
    "  no such disk",
    "    a.spec.ts > not here",
    "  no reason given",
    "    a.spec.ts > never",
  ])
  expect(code).toBe(1)
})

test("a run without failures ends with exit code 0", async () => {
  const { lines, code } = await runSuite('test("good", () => {})')
  expect(lines.at(-1)).toBe("1 passed, 0 failed")
  expect(code).toBe(0)
})

test("what did not run after a failure is no pass", async () => {
  const { lines, code } = await runSuite(`
    test.describe.configure({ mode: "serial" })
    test("bad", () => expect(1).toBe(2))
    test("after it", () => {})
  `)
  expect(lines.at(-1)).toBe("0 passed, 1 failed, 1 skipped")
  expect(lines.join("\n")).toContain(
    "did not run, after the failure of something that it needs\n    a.spec.ts > after it",
  )
  expect(code).toBe(1)
})

test("a file that cannot be loaded counts as a failure", async () => {
  await writeFile(join(folder, "b.spec.ts"), 'throw new Error("at load")')
  const { lines, code } = await runSuite('test("good", () => {})')
  expect(lines.at(-1)).toMatch(/ passed, 1 failed/)
  expect(code).toBe(1)
})
