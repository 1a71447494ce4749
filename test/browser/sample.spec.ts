import { expect, test } from "@playwright/test"
import { dependencies, examplesOf, SampleProject } from "../fixtures/sample-project.ts"

/** `all` installs everything from the registry, as a user would; else the packages of this repository are lent. */
const all = process.env["AGENTDB_SAMPLE"] === "all"

const examples = examplesOf("src/testing/README.md")

/** What a page among the examples shows, which has no test in it. */
const shows = (name: string, text: string) => `import { expect, test } from "@playwright/test"
test("${name}", async ({ page }) => {
  await page.goto("/${name}")
  await expect(page.locator("body")).toHaveText("${text}")
})`

test("the examples of how to test an agent run as they are written, over the packed package", async () => {
  test.setTimeout(all ? 600_000 : 180_000)
  using project = await SampleProject.create(examples)
  const tarball = await project.pack()
  if (!all) await project.link(tarball, [...dependencies(), "@playwright/test", "vite", "msw"])
  project.write("tests/alone.spec.js", shows("alone.html", "no server anywhere"))
  const withBrowser = project.useBrowser()

  const ran: string[] = []
  for (const command of examples.commands) {
    if (command.startsWith("npm install")) {
      if (all) await project.run(`${command.replace("agentdb-web", tarball)} --no-audit --no-fund`)
      continue
    }
    if (command.startsWith("npx vitest") && !all) continue
    const output = await project.run(command.startsWith("npx playwright") ? `${command} ${withBrowser}` : command)
    const [count] = /\d+ passed|pass \d+/.exec(output) ?? []
    if (count) ran.push(`${command}: ${count}`)
  }
  // Whose buffers are of another realm.
  if (all) {
    await project.run("npm install jsdom happy-dom --no-audit --no-fund")
    for (const environment of ["jsdom", "happy-dom"]) {
      expect(await project.run(`npx vitest run --dir unit --environment ${environment}`)).toContain("1 passed")
    }
    expect(await project.run("npx agentdb-web --version")).toMatch(/^\d+\.\d+\.\d+/)
  }
  // Its packages come with a later example.
  project.write("tests/mocked.spec.js", shows("mocked.html", "written through msw"))
  expect(await project.run(`npx playwright test mocked ${withBrowser}`)).toContain("1 passed")
  const vitest = all ? ["npx vitest run --dir unit: 1 passed"] : []
  expect(ran).toEqual(["npx playwright test: 4 passed", ...vitest, "node --test server/agent.test.js: pass 1"])
})

test("the vitest example runs in jest as the page says", async () => {
  test.skip(!all, "installs jest from the registry: npm run test:sample")
  test.setTimeout(600_000)
  using project = await SampleProject.create(examples)
  await project.run(`npm install "${await project.pack()}" msw@2 jest@30 ws --no-audit --no-fund`)
  const vitest = examples.files.get("unit/agent.test.js") ?? ""
  const jest = vitest.replace('from "vitest"', 'from "@jest/globals"')
  expect(jest).not.toBe(vitest)
  project.write("unit/agent.test.js", jest)
  const transforms = "--transform='{}'"
  const output = await project.run(
    `node --experimental-vm-modules node_modules/jest/bin/jest.js --testEnvironment=node ${transforms} unit`,
  )
  expect(output).toMatch(/Tests:\s+1 passed/)
})
