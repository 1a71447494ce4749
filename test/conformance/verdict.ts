import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { formatReport, type RuleResult } from "agentdb-web/conformance"

export const isWhole = process.env["AGENTDB_CONFORMANCE"] === "all"

/** What tests of a transport are to be called. */
export const title = (transport: string) =>
  `over ${transport} every rule holds${isWhole ? "" : ", but for those that wait for a limit of time"}`

/** Keeps the results for the table of `npm run conformance`. @throws Error with a report if a rule failed */
export function verdict(transport: string, results: readonly RuleResult[]): void {
  const folder = process.env["AGENTDB_CONFORMANCE_FOLDER"]
  if (folder) keep(join(folder, `${transport}.json`), results)
  const failed = results.filter(({ outcome }) => outcome === "failed")
  if (failed.length > 0) throw new Error(formatReport(failed))
  if (!results.some(({ outcome }) => outcome === "passed")) throw new Error("no rule was run")
}

/** Adds to what is there: after a failed test the rest of a file's tests run in another process. */
function keep(file: string, results: readonly RuleResult[]): void {
  const before: RuleResult[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : []
  writeFileSync(file, JSON.stringify([...before, ...results]))
}
