import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "@playwright/test"

const tests = new URL("../..", import.meta.url).pathname
const list = new URL("../../../../shared/cases/CASES.md", import.meta.url)

test("every known case of the field has a test that begins with its id", () => {
  test.skip(!existsSync(list), "the list of cases is not here")
  const ids = [...readFileSync(list, "utf8").matchAll(/^\| (C\d\d) \|/gm)].map(([, id]) => id as string)
  expect(ids.length).toBeGreaterThan(40)
  const text = readdirSync(tests, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .map((file) => readFileSync(join(tests, file), "utf8"))
    .join("\n")
  // Of a call of `test`, or of the name of a case in a table. One test may stand for several: "C40 C45 ...".
  const names = text.matchAll(/(?:test(?:\.\w+)?\(\s*|name:\s*|^\s*)["'`]((?:C\d\d[ :,]+)+)/gm)
  const named = new Set([...names].flatMap(([, start]) => start?.match(/C\d\d/g) ?? []))
  const missing = ids.filter((id) => !named.has(id))
  expect(missing).toEqual([])
})
