interface About {
  /** Stable. */
  readonly id: string
  /** The heading of the protocol's page. */
  readonly section: string
  readonly sentence: string
}

/** What came of one rule. */
export type RuleResult = About &
  (
    | { readonly outcome: "passed" }
    | {
        readonly outcome: "failed"
        /** Which part of the rule; may be empty. */
        readonly where: string
        readonly expected: string
        /** What came instead. */
        readonly got: string
      }
    | { readonly outcome: "not applicable"; readonly why: string }
  )

/** A table in plain text, a line a rule, and the counts in the last line. */
export function formatReport(results: Iterable<RuleResult>): string {
  const all = [...results]
  const width = Math.max(0, ...all.map(({ id }) => id.length))
  const lines: string[] = []
  let section = ""
  for (const result of all) {
    if (result.section !== section) {
      section = result.section
      lines.push("", section)
    }
    lines.push(`  ${marks[result.outcome]} ${result.id.padEnd(width)}  ${result.sentence}`)
    const indent = " ".repeat(width + 6)
    if (result.outcome === "not applicable") lines.push(`${indent}not applicable: ${result.why}`)
    if (result.outcome === "failed") {
      if (result.where) lines.push(`${indent}at: ${result.where}`)
      lines.push(`${indent}expected: ${result.expected}`, `${indent}got: ${result.got}`)
    }
  }
  const count = (outcome: RuleResult["outcome"]) => all.filter((result) => result.outcome === outcome).length
  lines.push("", `${count("passed")} passed, ${count("failed")} failed, ${count("not applicable")} not applicable`)
  return lines.join("\n").trimStart()
}

const marks = { passed: "ok  ", failed: "FAIL", "not applicable": "-   " }
