import { conformance } from "../../../src/conformance/index.ts"
import { memoryTarget } from "../../conformance/memory-target.ts"
import { ruleTests } from "../../conformance/rule-tests.ts"
import { smallLimits } from "../../conformance/targets.ts"

ruleTests("over an in-memory link", async () => {
  const target = await memoryTarget(smallLimits)
  return {
    async run(only) {
      for await (const result of conformance({ ...target.options, only: [only] })) return result
      throw new Error(`no result of ${only}`)
    },
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  }
})
