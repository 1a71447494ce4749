import { expect, test } from "@playwright/test"
import type { Row } from "../../conformance/results.ts"
import { table } from "../../tools/conformance-table.mjs"

const row = (id: string, outcome: Row["outcome"], why?: string): Row => ({
  id,
  section: id.split(".")[0] ?? "",
  outcome,
  ...(why && { why }),
})

test("the table of conformance names what did not pass everywhere, and why, and counts all", () => {
  const results = new Map([
    ["port", [row("a.one", "passed"), row("a.two", "not applicable", "no socket"), row("b.three", "passed")]],
    ["socket", [row("a.one", "passed"), row("a.two", "passed"), row("b.three", "failed", "expected 1\n| got 2")]],
    ["page", [row("b.three", "passed"), row("b.four", "passed")]],
  ])
  expect(table(results, { everyRow: false }).split("\n")).toEqual([
    "|  | port | socket | page |",
    "| --- | --- | --- | --- |",
    "| **a** (2) | 1 passed, 1 not applicable | 2 passed | 2 not run |",
    "| a.one | passed | passed | not run |",
    "| a.two | not applicable: no socket | passed | not run |",
    "| **b** (2) | 1 passed, 1 not run | 1 failed, 1 not run | 2 passed |",
    "| b.three | passed | failed: expected 1 \\| got 2 | passed |",
    "| b.four | not run | not run | passed |",
    "| **all** (4) | 2 passed, 1 not applicable, 1 not run | 2 passed, 1 failed, 1 not run | 2 passed, 2 not run |",
  ])
  const whole = table(new Map([["port", [row("a.one", "passed")]]]), { everyRow: true })
  expect(whole.split("\n")[3]).toBe("| a.one | passed |")
})
