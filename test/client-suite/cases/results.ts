import { assert, fails, failure } from "../check.ts"
import type { Group } from "../context.ts"
import { list, onPath, paths, rows } from "../sql.ts"

export const results: Group = {
  name: "exec",
  cases: [
    {
      name: "answers a plain object of rowsAffected, lastInsertId and tip, in this order",
      async run(ctx) {
        const db = await ctx.connect()
        const created = await db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        assert.strictEqual(JSON.stringify(created), '{"rowsAffected":0,"lastInsertId":0,"tip":1}')
        assert.strictEqual(Object.getPrototypeOf(created), Object.prototype)
        assert.deepEqual(await db.exec("INSERT INTO t(v) VALUES (1), (2), (3)"), {
          rowsAffected: 3,
          lastInsertId: 3,
          tip: 2,
        })
        assert.deepEqual(await db.exec("UPDATE t SET v = v + 1 WHERE v > 1"), {
          rowsAffected: 2,
          lastInsertId: 0,
          tip: 3,
        })
        assert.deepEqual(await db.exec("DELETE FROM t WHERE 0"), { rowsAffected: 0, lastInsertId: 0, tip: 3 })
        assert.deepEqual(await db.exec("SELECT * FROM t"), { rowsAffected: 0, lastInsertId: 0, tip: 3 })
        assert.deepEqual(await db.exec("DROP TABLE t"), { rowsAffected: 0, lastInsertId: 0, tip: 4 })
      },
    },
    {
      name: "lastInsertId is a bigint where a number would be rounded",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY)")
        const ids = [1n, -5n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]
        for (const id of ids) {
          const { lastInsertId } = await db.exec("INSERT INTO t VALUES(?)", [id])
          assert.strictEqual(lastInsertId, Number.isSafeInteger(Number(id)) ? Number(id) : id)
        }
        const { results } = await db.batch(["DELETE FROM t", "INSERT INTO t VALUES(9007199254740993)"])
        assert.deepEqual(
          results.map((result) => "lastInsertId" in result && result.lastInsertId),
          [0, 9007199254740993n],
        )
      },
    },
    {
      name: "the tip only grows, is what the newest answer showed, and is the same for others",
      async run(ctx) {
        const [a, b] = [await ctx.connect(), await ctx.connect()]
        assert.strictEqual(a.databaseId, ctx.databaseId)
        assert.strictEqual(a.tip, 0)
        await a.batch(["CREATE TABLE t(v)", "INSERT INTO t VALUES(1)"])
        assert.strictEqual(a.tip, 1)
        assert.strictEqual(b.tip, 0)
        const stream = b.query("SELECT v FROM t")
        await stream.all()
        assert.deepEqual(await stream.done, { tip: 1, totalRows: 1 })
        assert.strictEqual(b.tip, 1)
        await b.transaction(async (tx) => {
          assert.strictEqual((await tx.exec("INSERT INTO t VALUES(2)")).tip, 1)
          assert.strictEqual((await tx.exec("INSERT INTO t VALUES(3)")).tip, 1)
        })
        assert.strictEqual(b.tip, 2)
        assert.strictEqual((await ctx.connect()).tip, 2)
      },
    },
    {
      name: "ping gives the round trip in milliseconds, also while a stream runs",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const tx = await db.begin()
        const ms = await db.ping()
        assert.isAtLeast(ms, 0)
        assert.isBelow(ms, 10_000)
        await tx.rollback()
      },
    },
    {
      name: "C57 exactly one statement, with whatever blanks, comments and semicolons around it",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        for (const [sql, value] of [
          ["SELECT 1 -- c", 1],
          ["SELECT 1; -- c;", 1],
          ["SELECT 1;;;", 1],
          ["SELECT ';--/*'", ";--/*"],
          ["\ufeffSELECT 6", 6],
          ["SELECT 1 /* open", 1],
          ["/* a */ ; -- b\n SELECT 7", 7],
        ] as const) {
          assert.deepEqual(await list(db, sql), [value], sql)
          for (const path of paths) await onPath(db, path, sql)
        }
        const none = ["", ";", ";;", "-- c", "/* c */", " \n\t", "\ufeff"]
        const two = [
          "SELECT 1; SELECT 2",
          "INSERT INTO t VALUES(1); INSERT INTO t VALUES(2)",
          "INSERT INTO t VALUES(1); x",
        ]
        for (const sql of [...none, ...two, "INSERT INTO t VALUES('a\u0000b')", "INSERT INTO t VALUES(1)\u0000"]) {
          for (const path of paths) await fails(onPath(db, path, sql), "invalid_argument", "", `${path}: ${sql}`)
        }
        assert.deepEqual(await list(db, "SELECT count(*) FROM t"), [0])
      },
    },
    {
      name: "SQL that is no text, and a Statement with params beside its own, are TypeErrors",
      async run(ctx) {
        const db = await ctx.connect()
        for (const sql of [undefined, null, 1, {}, ["SELECT 1"]] as never[]) {
          assert.instanceOf(await failure(db.exec(sql)), TypeError)
          assert.instanceOf(await failure(db.query(sql).all()), TypeError)
          assert.instanceOf(await failure(db.batch([sql])), TypeError)
        }
        assert.instanceOf(await failure(db.exec({ sql: "SELECT ?", params: [1] }, [1])), TypeError)
        assert.deepEqual(ctx.sent(db), [])
        assert.deepEqual(await list(db, "SELECT 1"), [1])
      },
    },
    {
      name: "C59 a query sees the columns of its time, whoever changed the table",
      async run(ctx) {
        const [db, other] = [await ctx.connect(), await ctx.connect()]
        const seen = async () => {
          const stream = db.query("SELECT * FROM t", [], { rowMode: "array" })
          return [await stream.columns(), await stream.all()]
        }
        await other.batch(["CREATE TABLE t(a)", "INSERT INTO t VALUES(1)"])
        assert.deepEqual(await seen(), [["a"], [[1]]])
        await other.exec("ALTER TABLE t ADD COLUMN b DEFAULT 'B'")
        assert.deepEqual(await seen(), [["a", "b"], [[1, "B"]]])
        await other.exec("ALTER TABLE t DROP COLUMN a")
        assert.deepEqual(await seen(), [["b"], [["B"]]])
        await other.batch(["DROP TABLE t", "CREATE TABLE t(c REAL)", "INSERT INTO t VALUES(2)"])
        assert.deepEqual(await seen(), [["c"], [[2]]])
        assert.deepEqual(await rows(other, "SELECT typeof(c) FROM t"), [["real"]])
      },
    },
  ],
}
