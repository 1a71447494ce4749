import { memoryTarget } from "../../conformance/memory-target.ts"
import { ruleTests } from "../../conformance/rule-tests.ts"
import { smallLimits } from "../../conformance/targets.ts"

ruleTests("an in-memory link", () => memoryTarget(smallLimits))
