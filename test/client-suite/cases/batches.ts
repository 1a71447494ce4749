import { type BatchResult, sql } from "agentdb-web/client"
import { assert, fails } from "../check.ts"
import type { Group } from "../context.ts"
import { list, numbers } from "../sql.ts"

const counts = ({ results }: BatchResult) =>
  results.map((result) => ("rowsAffected" in result ? result.rowsAffected : -1))

export const batches: Group = {
  name: "batch",
  cases: [
    {
      name: "gives its tip and a result for each statement, in order",
      async run(ctx) {
        const db = await ctx.connect()
        const result = await db.batch([
          "CREATE TABLE t(id INTEGER PRIMARY KEY, v)",
          { sql: "INSERT INTO t(v) VALUES (?), (?)", params: [1, "b"] },
          "SELECT id, v FROM t ORDER BY id",
          sql`SELECT v FROM t WHERE id = ${7}`,
          "INSERT INTO t(v) VALUES (9007199254740993) RETURNING id, v",
          "DELETE FROM t WHERE id = 1",
        ])
        assert.deepEqual(Object.keys(result), ["tip", "results"])
        assert.deepEqual(result, {
          tip: 1,
          results: [
            { rowsAffected: 0, lastInsertId: 0, tip: 1 },
            { rowsAffected: 2, lastInsertId: 2, tip: 1 },
            {
              columns: ["id", "v"],
              rows: [
                { id: 1, v: 1 },
                { id: 2, v: "b" },
              ],
            },
            { columns: ["v"], rows: [] },
            { columns: ["id", "v"], rows: [{ id: 3, v: 9007199254740993n }] },
            { rowsAffected: 1, lastInsertId: 0, tip: 1 },
          ],
        })
        assert.deepEqual(Object.keys(result.results[1] ?? {}), ["rowsAffected", "lastInsertId", "tip"])
        assert.deepEqual(Object.keys(result.results[2] ?? {}), ["columns", "rows"])
      },
    },
    {
      name: "rows are as all() gives them, and more than a window of them comes whole",
      limits: { firstBatchBytes: 256, batchBytes: 256 },
      async run(ctx) {
        const db = await ctx.connect()
        const asked = "SELECT 1 AS n, 2 AS n, x'0102' AS b, NULL AS z, 2.5 AS r"
        const { results } = await db.batch([asked, numbers(3000)])
        const all = [await db.query(asked).all(), await db.query(numbers(3000)).all()]
        assert.deepEqual(
          results.map((result) => "rows" in result && result.rows),
          all,
        )
      },
    },
    {
      name: "of no statement, and of one, answers too",
      async run(ctx) {
        const db = await ctx.connect()
        assert.deepEqual(await db.batch([]), { tip: 0, results: [] })
        const one = await db.batch(["CREATE TABLE t(v)"])
        assert.deepEqual(one, { tip: 1, results: [{ rowsAffected: 0, lastInsertId: 0, tip: 1 }] })
        assert.deepEqual(await db.batch([]), { tip: 1, results: [] })
        await (await db.begin()).commit()
      },
    },
    {
      name: "hundreds of statements are one commit",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const inserts = Array.from({ length: 500 }, (_, v) => sql`INSERT INTO t VALUES(${v})`)
        const result = await db.batch(inserts)
        assert.strictEqual(result.tip, 2)
        assert.deepEqual(counts(result), Array(500).fill(1))
      },
    },
    {
      name: "C22 all or nothing, and the error names the culprit",
      async run(ctx) {
        const db = await ctx.connect()
        const missing = await fails(
          db.batch([
            "CREATE TABLE a(x)",
            "INSERT INTO a VALUES(1)",
            "INSERT INTO nope VALUES(1)",
            "INSERT INTO a VALUES(2)",
          ]),
          "SQLITE_ERROR",
          /^statement 2: no such table: nope$/,
        )
        assert.strictEqual(missing.statementIndex, 2)
        assert.deepEqual(await list(db, "SELECT count(*) FROM sqlite_schema"), [0])

        await db.batch(["CREATE TABLE a(x UNIQUE)", "INSERT INTO a VALUES(1)"])
        const unique = await fails(
          db.batch(["INSERT INTO a VALUES(2)", "INSERT INTO a VALUES(1)"]),
          "SQLITE_CONSTRAINT_UNIQUE",
          "statement 1: UNIQUE constraint failed: a.x",
        )
        assert.strictEqual(unique.statementIndex, 1)
        assert.deepEqual(await list(db, "SELECT x FROM a"), [1])

        const vacuum = await fails(db.batch(["VACUUM"]), "SQLITE_ERROR", "cannot VACUUM from within a transaction")
        assert.strictEqual(vacuum.statementIndex, 0)
        await db.exec("VACUUM")
        assert.deepEqual(await db.batch(["SELECT x FROM a"]).then(({ results }) => results), [
          { columns: ["x"], rows: [{ x: 1 }] },
        ])
      },
    },
    {
      name: "a failure of the commit itself names no statement",
      async run(ctx) {
        const db = await ctx.connect()
        await db.batch([
          "CREATE TABLE p(id PRIMARY KEY)",
          "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
        ])
        const error = await fails(db.batch(["INSERT INTO c VALUES(1)", "SELECT 1"]), "SQLITE_CONSTRAINT_FOREIGNKEY")
        assert.strictEqual(error.statementIndex, undefined)
        assert.deepEqual(await list(db, "SELECT count(*) FROM c"), [0])
      },
    },
    {
      name: "transaction control in it is refused, and nothing of it is applied",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        for (const control of ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT a", "RELEASE a", "ROLLBACK TO a"]) {
          const error = await fails(db.batch(["INSERT INTO t VALUES(1)", control]), "failed_precondition", "", control)
          assert.strictEqual(error.statementIndex, 1)
        }
        assert.deepEqual(await list(db, "SELECT count(*) FROM t"), [0])
      },
    },
    {
      name: "inside a transaction it is a savepoint of it",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v UNIQUE)")
        await db.transaction(async (tx) => {
          await tx.exec("INSERT INTO t VALUES(1)")
          assert.deepEqual(counts(await tx.batch(["INSERT INTO t VALUES(2)", "INSERT INTO t VALUES(3)"])), [1, 1])
          const error = await fails(
            tx.batch(["INSERT INTO t VALUES(4)", "INSERT INTO t VALUES(1)"]),
            "SQLITE_CONSTRAINT_UNIQUE",
          )
          assert.strictEqual(error.statementIndex, 1)
          await tx.exec("INSERT INTO t VALUES(5)")
        })
        assert.deepEqual(await list(db, "SELECT v FROM t ORDER BY v"), [1, 2, 3, 5])
      },
    },
  ],
}
