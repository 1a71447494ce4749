import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** What came of one rule, or one case of the client suite, over one transport. */
export interface Row {
  readonly id: string
  readonly section: string
  readonly outcome: "passed" | "failed" | "not applicable"
  /** What came instead, or why it can't be shown there. */
  readonly why?: string
}

/**
 * Keeps results for the tables of `npm run conformance`; elsewhere nobody wants them.
 * It adds to what is there: after a failed test the rest of a file's tests run in another process.
 */
export function keep(table: "rules" | "client suite", transport: string, rows: readonly Row[]): void {
  const root = process.env["AGENTDB_CONFORMANCE_FOLDER"]
  if (!root) return
  const folder = join(root, table)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${transport}.json`)
  const before: Row[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : []
  writeFileSync(file, JSON.stringify([...before, ...rows]))
}
