import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "../../fixtures/browser.ts"
import { type Cell, compareRows, parseSqllogictest } from "../../fixtures/sqllogictest.ts"

/** Scripts with known results, kept outside the project. */
const folder = "../shared/sqllogictest"
const all = process.env["AGENTDB_SQLLOGICTEST"] === "all"

function scripts(): string[] {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test"))
  return files.filter((name) => all || name.startsWith("evidence/") || name === "select1.test").sort()
}

const names = scripts()

if (names.length === 0) {
  test("sqllogictest through the wire", () => {
    test.skip(true, `there are no scripts in ${folder}`)
  })
}

for (const name of names) {
  test(`sqllogictest through the wire: ${name}`, async ({ profile, site }) => {
    test.setTimeout(600_000)
    const records = parseSqllogictest(readFileSync(join(folder, name), "utf8"))
    const page = await profile.open(site.plain)
    const runnable = records.filter((record) => record.kind !== "skipped")
    const outcomes = await page.evaluate(async (records) => {
      const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      const { databaseId } = await agentdb.createDatabase()
      const db = await agentdb.connect(databaseId)
      const portable = (value: unknown): Cell => {
        if (typeof value === "bigint") return { bigint: String(value) }
        if (value instanceof Uint8Array) return { blob: new TextDecoder("latin1").decode(value) }
        return value as Cell
      }
      const outcomes: ({ rows: Cell[][] } | { error: string } | undefined)[] = []
      for (const record of records) {
        try {
          if (record.kind === "statement") {
            // Some records hold two statements; a frame holds one.
            for (const sql of window.agentdbWeb.client.splitStatements(record.sql)) await db.exec(sql)
            outcomes.push(undefined)
          } else {
            const rows = await db.query<unknown[]>(record.sql, [], { rowMode: "array" }).all()
            outcomes.push({ rows: rows.map((row) => row.map(portable)) })
          }
        } catch (error) {
          outcomes.push({ error: String(error) })
        }
      }
      await agentdb.close()
      return outcomes
    }, runnable)

    const failures: string[] = []
    runnable.forEach((record, i) => {
      const outcome = outcomes[i]
      const failed = outcome && "error" in outcome ? outcome.error : undefined
      const where = `line ${record.line}: ${record.sql}\n  `
      if (record.kind === "statement") {
        if (record.fails !== (failed !== undefined)) failures.push(`${where}${failed ?? "succeeded, but should fail"}`)
        return
      }
      // The one error that the scripts write as a query without a result.
      if (failed?.endsWith("integer overflow") && record.expected.length === 0) return
      const came = failed ?? compareRows(record, outcome && "rows" in outcome ? outcome.rows : [])
      if (came !== undefined) failures.push(`${where}expected ${record.expected.join(" ")}\n  got ${came}`)
    })
    const skipped = new Map<string, number>()
    for (const record of records) {
      if (record.kind === "skipped") skipped.set(record.reason, (skipped.get(record.reason) ?? 0) + 1)
    }
    const reasons = [...skipped].map(([reason, count]) => `${count} ${reason}`).join(", ")
    console.log(
      `${name}: ${runnable.length} records run, ${runnable.length - failures.length} passed` +
        `${reasons ? `, skipped ${reasons}` : ""}`,
    )
    expect(failures.slice(0, 5)).toEqual([])
  })
}
