import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "@playwright/test"

const tests = new URL("../..", import.meta.url).pathname
const list = new URL("../../../../shared/cases/CASES.md", import.meta.url)

/** Those whose tests are on their way. */
const elsewhere = new Set("C08 C28 C31 C32 C33 C34 C35 C36 C37 C40 C41 C44 C45 C53 C54 C66 C67".split(" "))

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
  if (missing.length > 0) console.log(`no test begins with ${missing.join(", ")}`)
  expect(missing.filter((id) => !elsewhere.has(id))).toEqual([])
})
