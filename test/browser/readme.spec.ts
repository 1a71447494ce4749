import { readFile } from "node:fs/promises"
import { expect, openHarness, test } from "../fixtures/browser.ts"
import { inRoot } from "../tools/paths.mjs"

test("the code in README.md works when pasted", async ({ page, site }) => {
  const readme = await readFile(inRoot("README.md"), "utf8")
  const code = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ""
  // The page has no bundler: what an import would bring is on the window already.
  const body = code.replace(/import (\{.*\}) from "agentdb-web"/, "const $1 = window.agentdbWeb")
  expect(body).not.toBe(code)

  const printed: string[] = []
  page.on("console", (message) => printed.push(message.text()))
  await openHarness(page, site.plain)
  await page.evaluate(`(async () => {${body}})()`)
  expect(printed).toEqual(["1 BUY MILK", expect.stringMatching(/^a SQLite file of [1-9]\d{3,} bytes$/)])
})
