import { Deviation, show } from "./deviation.ts"
import { NotApplicable } from "./not-applicable.ts"
import type { ConformanceOptions } from "./options.ts"
import type { RuleResult } from "./result.ts"
import type { Rule } from "./rule.ts"
import { rules } from "./rules/index.ts"
import { Stage } from "./stage.ts"
import { type Target, targetOf } from "./target.ts"

/**
 * Holds a target against the protocol, rule by rule, and yields what came of each; a target that deviates makes
 * no error. Rules run one after another, each on databases and sockets of its own.
 * @throws AgentDBError `invalid_argument` for a bad limit; RangeError for a name in `only` that means no rule;
 * the signal's reason.
 */
export async function* conformance(options: ConformanceOptions): AsyncGenerator<RuleResult> {
  const target = targetOf(options)
  const { signal } = options
  for (const rule of chosen(options.only)) {
    signal?.throwIfAborted()
    yield await judge(rule, target)
    signal?.throwIfAborted()
  }
}

function chosen(only: readonly string[] | undefined): readonly Rule[] {
  if (!only) return rules
  const isMeant = ({ id }: Rule) => only.some((name) => id === name || id.startsWith(`${name}.`))
  for (const name of only) {
    if (!rules.some(({ id }) => id === name || id.startsWith(`${name}.`))) throw new RangeError(`no rule ${name}`)
  }
  return rules.filter(isMeant)
}

async function judge(rule: Rule, target: Target): Promise<RuleResult> {
  const { id, section, sentence } = rule
  const about = { id, section, sentence }
  const why = rule.unfit(target)
  if (why !== undefined) return { ...about, outcome: "not applicable", why }
  const stage = new Stage(target)
  try {
    await inTime(rule.run(stage), target.hangMs, () => stage.pending)
    if (stage.fault) throw stage.fault
    return { ...about, outcome: "passed" }
  } catch (error) {
    if (error instanceof NotApplicable) return { ...about, outcome: "not applicable", why: error.message }
    const deviation = error instanceof Deviation ? error : new Deviation("", "no failure", show(error))
    const { message, expected, got } = deviation
    return { ...about, outcome: "failed", where: message, expected, got }
  } finally {
    await inTime(stage.strike(), target.hangMs, () => "").catch(() => {})
  }
}

async function inTime(work: Promise<void>, ms: number, pending: () => string): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Deviation("", "an end", `none after ${ms} ms: ${pending()}`)), ms)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}
