import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { inRoot } from "./paths.mjs"

/** @typedef {import("../conformance/results.ts").Row} Row */
/** @typedef {Map<string, readonly Row[]>} Results of transports */

const file = "conformance-table.md"
const outcomes = /** @type {const} */ (["passed", "failed", "not applicable"])
/** A failure may have a whole frame to show. */
const longestCell = 300

/** Where the tests of transports leave their results; at the end of this process they become tables. */
export function collectConformance() {
  const folder = mkdtempSync(join(tmpdir(), "agentdb-conformance-"))
  process.env.AGENTDB_CONFORMANCE_FOLDER = folder
  process.on("exit", () => {
    const tables = readdirSync(folder)
      .sort()
      .map((name) => ({ name, results: readResults(join(folder, name)) }))
    rmSync(folder, { recursive: true })
    writeFileSync(inRoot(file), page(tables, { everyRow: true }))
    console.log(`\n${page(tables, { everyRow: false })}\nWith every rule and case: ${file}`)
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

/** @param {{ name: string, results: Results }[]} tables @param {{ everyRow: boolean }} o */
const page = (tables, o) =>
  tables.map(({ name, results }) => `## ${name} over transports\n\n${table(results, o)}\n`).join("\n")

/**
 * Sections, with the rows that did not pass everywhere (or all of them), by transport.
 * @param {Results} transports @param {{ everyRow: boolean }} o
 */
export function table(transports, { everyRow }) {
  const names = [...transports.keys()]
  // By both: cases of two groups may have one name.
  const keyOf = (/** @type {Row} */ { section, id }) => `${section}\n${id}`
  const columns = names.map((name) => new Map(transports.get(name)?.map((row) => [keyOf(row), row])))
  const rows = new Map(columns.flatMap((column) => [...column.values()].map((row) => [keyOf(row), row])))
  const lines = [
    line("", names),
    line(
      "---",
      names.map(() => "---"),
    ),
  ]
  /** @param {string} head @param {string[]} keys */
  const addCounts = (head, keys) =>
    lines.push(
      line(
        `**${head}** (${keys.length})`,
        columns.map((column) => counts(keys.map((key) => column.get(key)))),
      ),
    )
  for (const section of new Set([...rows.values()].map((row) => row.section))) {
    const own = [...rows].filter(([, row]) => row.section === section)
    addCounts(
      section,
      own.map(([key]) => key),
    )
    for (const [key, { id }] of own) {
      const cells = columns.map((column) => column.get(key))
      if (everyRow || cells.some((cell) => cell?.outcome !== "passed")) lines.push(line(id, cells.map(cellOf)))
    }
  }
  addCounts("all", [...rows.keys()])
  return lines.join("\n")
}

/** @param {Row | undefined} row */
function cellOf(row) {
  if (!row) return "not run"
  const { outcome, why = "" } = row
  const text = why.length > longestCell ? `${why.slice(0, longestCell)} ...` : why
  return text ? `${outcome}: ${text}` : outcome
}

/** @param {readonly (Row | undefined)[]} rows */
function counts(rows) {
  return [...outcomes, "not run"]
    .map((outcome) => ({ outcome, count: rows.filter((row) => (row?.outcome ?? "not run") === outcome).length }))
    .flatMap(({ outcome, count }) => (count ? [`${count} ${outcome}`] : []))
    .join(", ")
}

/** @param {string} head @param {readonly string[]} cells */
const line = (head, cells) => `| ${[head, ...cells].map(asCell).join(" | ")} |`

/** Of one line, without a terminal's colours. @param {string} text */
const asCell = (text) => stripVTControlCharacters(text).replace(/\s+/g, " ").replaceAll("|", "\\|")
