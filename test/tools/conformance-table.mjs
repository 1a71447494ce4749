import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inRoot } from "./paths.mjs"

/** @typedef {import("agentdb-web/conformance").RuleResult} RuleResult */
/** @typedef {Map<string, readonly RuleResult[]>} Results of transports */

const file = "conformance-table.md"
const outcomes = /** @type {const} */ (["passed", "failed", "not applicable"])

/** Where the tests of transports leave their results; at the end of this process they become the table. */
export function collectConformance() {
  const folder = mkdtempSync(join(tmpdir(), "agentdb-conformance-"))
  process.env.AGENTDB_CONFORMANCE_FOLDER = folder
  process.on("exit", () => {
    const results = readResults(folder)
    rmSync(folder, { recursive: true })
    writeFileSync(inRoot(file), `${table(results, { everyRule: true })}\n`)
    console.log(`\n${table(results, { everyRule: false })}\n\nWith every rule: ${file}`)
    // The line of counts stays the last.
    const counts = process.env.AGENTDB_COUNT_FILE
    if (counts && existsSync(counts)) console.log(`\n${readFileSync(counts, "utf8")}`)
  })
}

/** @param {string} folder @returns {Results} */
function readResults(folder) {
  const names = readdirSync(folder).sort()
  return new Map(
    names.map((name) => [name.replace(/\.json$/, ""), JSON.parse(readFileSync(join(folder, name), "utf8"))]),
  )
}

/**
 * Sections, with the rules that did not pass everywhere (or all of them), by transport.
 * @param {Results} transports @param {{ everyRule: boolean }} o
 */
export function table(transports, { everyRule }) {
  const names = [...transports.keys()]
  const columns = names.map((name) => new Map(transports.get(name)?.map((result) => [result.id, result])))
  const rules = new Map(columns.flatMap((column) => [...column.values()].map((rule) => [rule.id, rule.section])))
  const lines = [
    row("rule", names),
    row(
      "---",
      names.map(() => "---"),
    ),
  ]
  const reasons = new Set()
  for (const section of new Set(rules.values())) {
    const ids = [...rules].filter(([, of]) => of === section).map(([id]) => id)
    lines.push(
      row(
        `**${section}** (${ids.length})`,
        columns.map((column) => counts(ids.map((id) => column.get(id)))),
      ),
    )
    for (const id of ids) {
      const results = columns.map((column) => column.get(id))
      if (everyRule || results.some((result) => result?.outcome !== "passed"))
        lines.push(
          row(
            id,
            results.map((result) => result?.outcome ?? "not run"),
          ),
        )
      results.forEach((result, index) => {
        if (result?.outcome === "not applicable") reasons.add(`- ${id}, ${names[index]}: ${result.why}`)
        if (result?.outcome === "failed")
          reasons.add(`- ${id}, ${names[index]}: ${result.where} expected ${result.expected}, got ${result.got}`)
      })
    }
  }
  lines.push(
    row(
      `**all** (${rules.size})`,
      columns.map((column) => counts([...rules.keys()].map((id) => column.get(id)))),
    ),
  )
  return [...lines, "", ...reasons].join("\n").trimEnd()
}

/** @param {readonly (RuleResult | undefined)[]} results */
function counts(results) {
  return [...outcomes, "not run"]
    .map((outcome) => ({ outcome, count: results.filter((one) => (one?.outcome ?? "not run") === outcome).length }))
    .flatMap(({ outcome, count }) => (count ? [`${count} ${outcome}`] : []))
    .join(", ")
}

/** @param {string} head @param {readonly string[]} cells */
const row = (head, cells) => `| ${[head, ...cells].join(" | ")} |`
