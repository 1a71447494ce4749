import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { formatReport, type RuleResult } from "agentdb-web/conformance"

export const isWhole = process.env["AGENTDB_CONFORMANCE"] === "all"

/** What tests of a transport are to be called. */
export const title = (transport: string) =>
  `over ${transport} every rule holds${isWhole ? "" : ", but for those that wait for a limit of time"}`

/** Keeps the results for the table of `npm run conformance`. @throws Error with a report if a rule failed */
export function verdict(transport: string, results: readonly RuleResult[]): void {
  const folder = process.env["AGENTDB_CONFORMANCE_FOLDER"]
  if (folder) writeFileSync(join(folder, `${transport}.json`), JSON.stringify(results))
  const failed = results.filter(({ outcome }) => outcome === "failed")
  if (failed.length > 0) throw new Error(formatReport(failed))
  if (!results.some(({ outcome }) => outcome === "passed")) throw new Error("no rule was run")
}
