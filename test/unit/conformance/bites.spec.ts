import { expect, test } from "@playwright/test"
import { conformance, formatReport, type RuleResult } from "agentdb-web/conformance"
import type { Link } from "../../../src/link/link.ts"
import type { ServerFrame } from "../../../src/wire/frames.ts"
import { crooked, type Fault } from "../../conformance/crooked-link.ts"
import { memoryTarget } from "../../conformance/memory-target.ts"
import { smallLimits } from "../../conformance/targets.ts"

const usual = ["query.columns", "query.done", "query.error", "query.captured", "credit", "ping.echo"]

function withError(frame: ServerFrame, change: { code?: string; message?: string }): ServerFrame {
  const { requestId, message } = frame
  if (message.case !== "error") return frame
  return { requestId, message: { case: "error", value: { ...message.value, ...change } } }
}

/** A service's faults, and the rules that show each: these and no other. */
const faults: Record<string, { fault: Fault; failing: string[]; only?: string[] }> = {
  "no fault": { fault: {}, failing: [] },
  "one batch above the credit": {
    fault: { extraBatches: 1 },
    failing: ["credit.initial", "credit.adds", "credit.at-once", "credit.per-request", "credit.unknown"],
  },
  "a tip that is off by one": {
    fault: {
      answer: (frame) => {
        const { requestId, message } = frame
        if (message.case !== "done") return frame
        return { requestId, message: { case: "done", value: { ...message.value, tip: message.value.tip + 1n } } }
      },
    },
    failing: ["query.done", "query.captured"],
  },
  "a Done that never comes": {
    fault: { answer: (frame) => (frame.message.case === "done" ? undefined : frame) },
    only: ["query.columns", "credit.initial", "ping.echo"],
    failing: ["query.columns"],
  },
  "one code for every error": {
    fault: {
      answer: (frame) => withError(frame, { code: "internal" }),
    },
    failing: ["query.error", "query.captured", "credit.only-batches"],
  },
  "an error that loses its message": {
    fault: {
      answer: (frame) => withError(frame, { message: "" }),
    },
    failing: ["query.error"],
  },
  "a Pong that never comes": {
    fault: { answer: (frame) => (frame.message.case === "pong" ? undefined : frame) },
    only: ["query.columns", "query.done", "ping.echo"],
    failing: ["ping.echo"],
  },
}

for (const [name, { fault, failing, only = usual }] of Object.entries(faults)) {
  test(`the kit and ${name}`, async () => {
    test.setTimeout(120_000)
    await using target = await memoryTarget(smallLimits)
    const open = async () => crooked((await target.options.open()) as Link, fault)
    const results: RuleResult[] = []
    // Long enough for any of these rules, and short enough to wait for where an answer is missing.
    for await (const result of conformance({ ...target.options, open, only, hangMs: 10_000 })) results.push(result)
    const failed = results.filter(({ outcome }) => outcome === "failed")
    expect(failed.map(({ id }) => id)).toEqual(failing)
    const counts = `${results.length - failing.length} passed, ${failing.length} failed, 0 not applicable`
    expect(formatReport(results).split("\n").at(-1)).toBe(counts)
  })
}
