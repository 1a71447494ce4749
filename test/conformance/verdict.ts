import { formatReport, type RuleResult } from "agentdb-web/conformance"
import { keep, type Row } from "./results.ts"

export const isWhole = process.env["AGENTDB_CONFORMANCE"] === "all"

/** What tests of a transport are to be called. */
export const title = (transport: string) =>
  `over ${transport} every rule holds${isWhole ? "" : ", but for those that wait for a limit of time"}`

/** Keeps the results for the table of `npm run conformance`. @throws Error with a report if a rule failed */
export function verdict(transport: string, results: readonly RuleResult[]): void {
  keep("rules", transport, results.map(toRow))
  const failed = results.filter(({ outcome }) => outcome === "failed")
  if (failed.length > 0) throw new Error(formatReport(failed))
  if (!results.some(({ outcome }) => outcome === "passed")) throw new Error("no rule was run")
}

function toRow(result: RuleResult): Row {
  const { id, section, outcome } = result
  switch (outcome) {
    case "passed":
      return { id, section, outcome }
    case "not applicable":
      return { id, section, outcome, why: result.why }
    case "failed":
      return { id, section, outcome, why: `${result.where} expected ${result.expected}, got ${result.got}`.trim() }
  }
}
