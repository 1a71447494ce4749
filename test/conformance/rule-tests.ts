import { test } from "@playwright/test"
import { conformanceRules, formatReport, type RuleResult } from "../../src/conformance/index.ts"

/** A running target, wherever the kit runs. */
export interface RuleRunner extends AsyncDisposable {
  run(id: string): Promise<RuleResult>
}

/** A test for each rule, over one target for all. Those that it cannot show are skipped, with the reason. */
export function ruleTests(transport: string, start: () => Promise<RuleRunner>): void {
  test.describe(transport, () => {
    let runner: RuleRunner

    test.beforeAll(async () => {
      runner = await start()
    })

    test.afterAll(() => runner[Symbol.asyncDispose]())

    for (const { id, sentence } of conformanceRules) {
      test(`${id}: ${sentence}`, async () => {
        const result = await runner.run(id)
        test.skip(result.outcome === "not applicable", result.outcome === "not applicable" ? result.why : "")
        if (result.outcome === "failed") throw new Error(formatReport([result]))
      })
    }
  })
}
