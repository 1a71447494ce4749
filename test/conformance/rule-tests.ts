import { test } from "@playwright/test"
import {
  type ConformanceOptions,
  conformance,
  conformanceRules,
  formatReport,
  type RuleResult,
} from "agentdb-web/conformance"
import { verdict } from "./verdict.ts"

interface RunningTarget extends AsyncDisposable {
  readonly options: ConformanceOptions
}

/** A test for each rule, over one target for all. Those that it cannot show are skipped, with the reason. */
export function ruleTests(transport: string, start: () => Promise<RunningTarget>): void {
  test.describe(`over ${transport}`, () => {
    let target: RunningTarget
    const results: RuleResult[] = []

    test.beforeAll(async () => {
      target = await start()
    })

    test.afterAll(async () => {
      await target[Symbol.asyncDispose]()
      verdict(transport, results)
    })

    for (const { id, sentence } of conformanceRules) {
      test(`${id}: ${sentence}`, async () => {
        for await (const result of conformance({ ...target.options, only: [id] })) {
          results.push(result)
          test.skip(result.outcome === "not applicable", result.outcome === "not applicable" ? result.why : "")
          if (result.outcome === "failed") throw new Error(formatReport([result]))
        }
      })
    }
  })
}
