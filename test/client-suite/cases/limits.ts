import type { Executor } from "agentdb-web/client"
import { assert, fails } from "../check.ts"
import type { Group } from "../context.ts"
import { list, rows } from "../sql.ts"

const repeated = (count: number, part: string, between: string) => Array(count).fill(part).join(between)

/** What stands at the engine's limits, and what is one beyond. */
const within: [string, string, unknown][] = [
  ["1,000 terms of a sum", `SELECT ${repeated(1000, "1", "+")}`, 1000],
  ["500 terms of a compound", `SELECT count(*) FROM (${repeated(500, "SELECT 1", " UNION ALL ")})`, 500],
  ["900 parentheses", `SELECT ${"(".repeat(900)}1${")".repeat(900)}`, 1],
  ["VALUES of 5,000 rows", `SELECT count(*) FROM (VALUES ${repeated(5000, "(1)", ",")})`, 5000],
  ["JSON 1,000 deep", `SELECT json_valid('${"[".repeat(1000)}${"]".repeat(1000)}')`, 1],
  ["JSON 1,001 deep", `SELECT json_valid('${"[".repeat(1001)}${"]".repeat(1001)}')`, 0],
]
const beyond: [string, string, RegExp][] = [
  ["1,001 terms of a sum", `SELECT ${repeated(1001, "1", "+")}`, /Expression tree is too large \(maximum depth 1000\)/],
  ["501 terms of a compound", repeated(501, "SELECT 1", " UNION ALL "), /too many terms in compound SELECT/],
  ["2,001 columns", `SELECT ${repeated(2001, "1", ",")}`, /too many columns in result set/],
  ["5,000 parentheses", `SELECT ${"(".repeat(5000)}1${")".repeat(5000)}`, /Recursion limit|parser stack overflow/i],
  ["a LIKE pattern of 60,000", `SELECT 'x' LIKE '${"%a".repeat(30_000)}'`, /LIKE or GLOB pattern too complex/],
  ["a GLOB pattern of 60,000", `SELECT 'x' GLOB '${"*a".repeat(30_000)}'`, /LIKE or GLOB pattern too complex/],
  ["200 functions' arguments", `SELECT max(${repeated(1001, "1", ",")})`, /too many arguments on function/],
  ["32,767 parameters by number", "SELECT ?32767", /variable number must be between \?1 and \?32766/],
]

async function inEveryWay(db: Executor & { batch(statements: string[]): Promise<unknown> }, sql: string, text: RegExp) {
  await fails(db.exec(sql), "SQLITE_ERROR", text)
  await fails(db.query(sql).all(), "SQLITE_ERROR", text)
  await fails(db.batch([sql]), "SQLITE_ERROR", text)
}

export const limits: Group = {
  name: "limits",
  cases: [
    {
      name: "C65 the engine's limits are errors on every path, what is within them works, and another socket goes on",
      async run(ctx) {
        const [db, other] = [await ctx.connect(), await ctx.connect()]
        for (const [name, sql, expected] of within) assert.deepEqual(await list(db, sql), [expected as number], name)
        for (const [name, sql, text] of beyond) {
          await inEveryWay(db, sql, text)
          await db.transaction((tx) => fails(tx.exec(sql), "SQLITE_ERROR", text, name))
          assert.deepEqual(await list(other, "SELECT 1"), [1], name)
        }
        const [row] = await rows(db, `SELECT ${repeated(2000, "1", ",")}`)
        assert.strictEqual(row?.length, 2000)
      },
    },
    {
      name: "C65 all 32,766 parameters bind, and one more is refused by both numbers",
      async run(ctx) {
        const db = await ctx.connect()
        const most = Array.from({ length: 32_766 }, (_, i) => i)
        const sql = `SELECT count(*), sum(column1) FROM (VALUES ${repeated(32_766, "(?)", ",")})`
        assert.deepEqual(await rows(db, sql, most), [[32_766, (32_765 * 32_766) / 2]])
        await fails(db.exec(sql, [...most, 1]), "invalid_argument", /32766 .* 32767/)
        await fails(db.batch([{ sql, params: [...most, 1] }]), "invalid_argument", /32766 .* 32767/)
      },
    },
    {
      name: "C65 stacked views work, and a trigger that fires itself ends in an error that leaves nothing",
      async run(ctx) {
        const db = await ctx.connect()
        await db.batch([
          "CREATE TABLE t(x)",
          "CREATE VIEW v0 AS SELECT 1 AS x",
          ...Array.from({ length: 99 }, (_, i) => `CREATE VIEW v${i + 1} AS SELECT x FROM v${i}`),
          "CREATE TRIGGER again AFTER INSERT ON t WHEN new.x < 2000 BEGIN INSERT INTO t VALUES(new.x + 1); END",
        ])
        assert.deepEqual(await list(db, "SELECT x FROM v99"), [1])
        const deep = db.batch(["PRAGMA recursive_triggers = ON", "INSERT INTO t VALUES(1)"])
        await fails(deep, "SQLITE_ERROR", /statement 1: triggers nested too deep/)
        assert.deepEqual(await list(db, "SELECT count(*) FROM t"), [0])
        await db.exec("INSERT INTO t VALUES(1)")
        assert.deepEqual(await list(db, "SELECT count(*) FROM t"), [2])
      },
    },
  ],
}
