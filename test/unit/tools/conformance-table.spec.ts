import { expect, test } from "@playwright/test"
import type { RuleResult } from "agentdb-web/conformance"
import { table } from "../../tools/conformance-table.mjs"

const about = (id: string) => ({ id, section: id.split(".")[0] ?? "", sentence: "" })
const passed = (id: string): RuleResult => ({ ...about(id), outcome: "passed" })
const unfit = (id: string): RuleResult => ({ ...about(id), outcome: "not applicable", why: "no socket" })
const failed = (id: string): RuleResult => ({ ...about(id), outcome: "failed", where: "x:", expected: "1", got: "2" })

test("the table of conformance names what did not pass everywhere, and counts all", () => {
  const results = new Map([
    ["port", [passed("a.one"), unfit("a.two"), passed("b.three"), passed("b.four")]],
    ["socket", [passed("a.one"), passed("a.two"), failed("b.three")]],
  ])
  expect(table(results, { everyRule: false }).split("\n")).toEqual([
    "| rule | port | socket |",
    "| --- | --- | --- |",
    "| **a** (2) | 1 passed, 1 not applicable | 2 passed |",
    "| a.two | not applicable | passed |",
    "| **b** (2) | 2 passed | 1 failed, 1 not run |",
    "| b.three | passed | failed |",
    "| b.four | passed | not run |",
    "| **all** (4) | 3 passed, 1 not applicable | 2 passed, 1 failed, 1 not run |",
    "",
    "- a.two, port: no socket",
    "- b.three, socket: x: expected 1, got 2",
  ])
  expect(table(results, { everyRule: true })).toContain("| a.one | passed | passed |")
})
