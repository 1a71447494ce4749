import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { expect, type Page, test } from "@playwright/test"
import { type Setup, setups } from "../bundlers/setups.ts"
import { freePort, SampleProject } from "../fixtures/sample-project.ts"
import { serveFolder } from "../tools/static-server.mjs"

/** `all` installs each setup from the registry, as a user would; else the packages of this repository are lent. */
const all = process.env["AGENTDB_BUNDLERS"] === "all"

for (const setup of all ? setups : setups.filter(({ everyday }) => everyday)) {
  test(`C54 ${setup.name}: SQLite answers, every request is answered, nothing complains`, async ({ page }) => {
    test.setTimeout(600_000)
    using project = await SampleProject.create({ files: new Map(Object.entries(setup.files)), commands: [] })
    await project.install(setup.packages, all)
    if (setup.build) await project.run(setup.build)
    await using server = await serve(project, setup)
    const complaints = complaintsOf(page)
    await page.goto(server.url + (setup.path ?? "/"))
    const answer = page.locator("output")
    await expect.poll(async () => complaints.join() || (await answer.textContent()), { timeout: 60_000 }).not.toBe("")
    expect(complaints).toEqual([])
    await expect(answer).toHaveText(/^3\.\d+\.\d+ on opfs$/)
  })
}

test("C53 the package can be imported and required in Node, and opening it there is refused by a code", async () => {
  using project = await SampleProject.create({ files: new Map(), commands: [] })
  await project.install([], all)
  project.write(
    "import.mjs",
    `const before = Object.keys(globalThis).join()
const { openAgentDB } = await import("agentdb-web")
console.log(before === Object.keys(globalThis).join(), await openAgentDB().catch((error) => error.code))`,
  )
  project.write("require.cjs", 'console.log(typeof require("agentdb-web").openAgentDB)')
  expect(await project.run("node import.mjs")).toBe("true failed_precondition\n")
  expect(await project.run("node --no-warnings require.cjs")).toBe("function\n")
})

/** What a visitor would find in the console, and requests that failed, as they come. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`console: ${message.text()}`)
  })
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.message}`))
  page.on("requestfailed", (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`))
  page.on("response", (response) => {
    const type = response.headers()["content-type"] ?? ""
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`)
    if (/\.wasm\b/.test(response.url()) && type !== "application/wasm") complaints.push(`${response.url()}: ${type}`)
  })
  return complaints
}

async function serve(
  project: SampleProject,
  { served, serve, headers }: Setup,
): Promise<AsyncDisposable & { url: string }> {
  if (served !== undefined) {
    const server = await serveFolder(join(project.folder, served), headers ? { headers: { ...headers } } : {})
    return { url: server.url, [Symbol.asyncDispose]: () => server.close() }
  }
  const port = await freePort()
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(serve ?? "", { cwd: project.folder, shell: true, env, stdio: "ignore", detached: true })
  const url = `http://127.0.0.1:${port}`
  await answering(url, child)
  return { url, [Symbol.asyncDispose]: () => stop(child) }
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  await expect
    .poll(
      () =>
        child.exitCode !== null ||
        fetch(url).then(
          () => true,
          () => false,
        ),
      { timeout: 60_000 },
    )
    .toBe(true)
  expect(child.exitCode).toBeNull()
}

/** The shell and what it started. */
async function stop(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once("close", resolve))
  if (child.pid) process.kill(-child.pid, "SIGTERM")
  await gone
}
