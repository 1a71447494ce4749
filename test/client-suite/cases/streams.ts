import { type AgentDBError, sql as statement, type Value } from "agentdb-web/client"
import { assert, asyncDispose, fails, inTime, pause } from "../check.ts"
import type { Group } from "../context.ts"
import { list, numbers, oneRow } from "../sql.ts"

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

export const streams: Group = {
  name: "query",
  cases: [
    {
      name: "nothing is sent before it is consumed, whichever way that begins",
      async run(ctx) {
        const db = await ctx.connect()
        const made = () => db.query("SELECT 1 AS x")
        const unread = made()
        unread[Symbol.asyncIterator]()
        unread.batches()
        void unread.done
        await pause(20)
        await db.ping()
        assert.deepEqual(ctx.sent(db), [])
        const begins: (() => Promise<unknown>)[] = [
          () => made().all(),
          () => made().first(),
          () => made().columns(),
          () => made()[Symbol.asyncIterator]().next(),
          () => made().batches()[Symbol.asyncIterator]().next(),
        ]
        for (const begin of begins) {
          const before = ctx.tap(db).sent.length
          await begin()
          assert.strictEqual(ctx.tap(db).sent[before]?.kind, "query")
        }
      },
    },
    {
      name: "every way of reading gives the same rows",
      limits: { firstBatchBytes: 64, batchBytes: 256 },
      async run(ctx) {
        const db = await ctx.connect()
        const expected = upTo(500)
        const made = () => db.query<{ x: number }>(numbers(500))
        assert.deepEqual(
          (await made().all()).map(({ x }) => x),
          expected,
        )
        const iterated: number[] = []
        for await (const { x } of made()) iterated.push(x)
        assert.deepEqual(iterated, expected)
        const columnar: Value[] = []
        for await (const { rows, columns } of made().batches()) {
          const values = columns[0]?.values() ?? []
          assert.strictEqual(values.length, rows)
          columnar.push(...values)
        }
        assert.deepEqual(columnar, expected)
        assert.deepEqual(await made().first(), { x: 0 })
        assert.deepEqual(await made().columns(), ["x"])
        const pulled = made()[Symbol.asyncIterator]()
        const eager = await Promise.all(upTo(502).map(() => pulled.next()))
        assert.deepEqual(
          eager.filter(({ done }) => !done).map(({ value }) => value?.x),
          expected,
        )
      },
    },
    {
      name: "done tells tip and totalRows once the result was read to its end; columns() is not the one reading",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const stream = db.query(numbers(1000))
        assert.deepEqual(await stream.columns(), ["x"])
        assert.deepEqual(await stream.columns(), ["x"])
        assert.strictEqual((await stream.all()).length, 1000)
        assert.deepEqual(await stream.done, { tip: 1, totalRows: 1000 })
        assert.deepEqual(await stream.columns(), ["x"])
      },
    },
    {
      name: "C12 a result without rows has its columns, and a statement without columns has none",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT)")
        const empty = "SELECT id, title, 1+1, count(*) OVER () AS c FROM t WHERE 0"
        const stream = db.query(empty)
        assert.deepEqual(await stream.columns(), ["id", "title", "1+1", "c"])
        assert.deepEqual(await stream.all(), [])
        assert.deepEqual(await stream.done, { tip: 1, totalRows: 0 })
        assert.strictEqual(await db.query(empty).first(), undefined)
        for await (const _row of db.query(empty)) assert.fail("a row of an empty result")
        for (const sql of ["CREATE TABLE u(v)", "DELETE FROM t WHERE 0", "PRAGMA user_version=7"]) {
          const bare = db.query(sql)
          assert.deepEqual(await bare.columns(), [], sql)
          assert.deepEqual(await bare.all(), [], sql)
          assert.strictEqual((await bare.done).totalRows, 0)
        }
        assert.deepEqual(await list(db, "PRAGMA user_version"), [7])
      },
    },
    {
      name: "a query that writes has written before its first row",
      async run(ctx) {
        const db = await ctx.connect()
        const other = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const first = await db.query("INSERT INTO t VALUES (1), (2), (3) RETURNING v").first()
        assert.deepEqual(first, { v: 1 })
        assert.deepEqual(await list(other, "SELECT count(*) FROM t"), [3])
      },
    },
    {
      name: "a result is read once",
      async run(ctx) {
        const db = await ctx.connect()
        const stream = db.query(numbers(10))
        await stream.all()
        await fails(stream.all(), "failed_precondition", "once")
        await fails(stream.first(), "failed_precondition", "once")
        await fails(stream[Symbol.asyncIterator]().next(), "failed_precondition", "once")
        await fails(stream.batches()[Symbol.asyncIterator]().next(), "failed_precondition", "once")
        assert.strictEqual((await stream.done).totalRows, 10)
      },
    },
    {
      name: "C16 an error after rows is an error, never an end of data",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        for (const [sql, expected, message] of [
          ["SELECT abs(column1) AS v FROM (VALUES(1),(2),(-9223372036854775808),(4))", [1, 2], "integer overflow"],
          [
            `SELECT json_extract(column1,'$.a') AS v FROM (VALUES('{"a":1}'),('{bad'),('{"a":3}'))`,
            [1],
            "malformed JSON",
          ],
        ] as const) {
          const stream = db.query<{ v: number }>(sql)
          const seen: number[] = []
          const reading = (async () => {
            for await (const { v } of stream) seen.push(v)
          })()
          await fails(reading, "SQLITE_ERROR", message)
          assert.deepEqual(seen, [...expected])
          await fails(stream.done, "SQLITE_ERROR", message)
          assert.deepEqual(await list(db, "SELECT 1"), [1])
        }
      },
    },
    {
      name: "done is never an unhandled rejection",
      async run(ctx) {
        const db = await ctx.connect()
        // The runner fails a case whose rejections nobody handled.
        await fails(db.query("SELECT * FROM nope").all(), "SQLITE_ERROR")
        await fails(db.query("SELECT * FROM nope").columns(), "SQLITE_ERROR")
        db.query("SELECT 1").cancel()
        const left = db.query(numbers(100_000))
        await left.columns()
        left.cancel()
        await db.query(numbers(100_000)).first()
        await db.query("SELECT 1", [], { signal: AbortSignal.abort() })[asyncDispose]()
        const open = db.query(numbers(1_000_000))[Symbol.asyncIterator]()
        await open.next()
        await db.close()
        await pause(50)
      },
    },
    {
      name: "C15 writing to the table that is being read neither hangs nor shows in the result",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        const loop = async () => {
          await db.exec("CREATE TABLE m(id INTEGER PRIMARY KEY, done DEFAULT 0)")
          await db.exec("INSERT INTO m(id) VALUES (1), (2), (3)")
          const seen: unknown[] = []
          for await (const { id } of db.query("SELECT id FROM m WHERE done=0 ORDER BY id")) {
            seen.push(id)
            await db.exec("UPDATE m SET done=1 WHERE id=?", [id as number])
          }
          assert.deepEqual(seen, [1, 2, 3])
          assert.deepEqual(await list(db, "SELECT sum(done) FROM m"), [3])
          const stream = db.query("SELECT id FROM m")
          for await (const _row of stream) await db.exec("INSERT INTO m DEFAULT VALUES")
          assert.strictEqual((await stream.done).totalRows, 3)
          assert.deepEqual(await list(db, "SELECT count(*) FROM m"), [6])
        }
        await inTime(loop(), 10_000, "the loop")
      },
    },
    {
      name: "the same inside a transaction, on its own connection",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        await db.batch(["CREATE TABLE m(id INTEGER PRIMARY KEY)", "INSERT INTO m VALUES (1), (2), (3)"])
        const loop = db.transaction(async (tx) => {
          const seen: unknown[] = []
          for await (const { id } of tx.query("SELECT id FROM m")) {
            seen.push(id)
            await tx.exec("INSERT INTO m DEFAULT VALUES")
          }
          return seen
        })
        assert.deepEqual(await inTime(loop, 10_000, "the loop"), [1, 2, 3])
        assert.deepEqual(await list(db, "SELECT count(*) FROM m"), [6])
      },
    },
    {
      name: "many streams and calls of one connection run side by side, each in order",
      limits: { firstBatchBytes: 256, batchBytes: 4096 },
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const counts = [3000, 1, 0, 5000, 3000]
        const reading = counts.map((count) => list(db, numbers(count)))
        const writing = upTo(20).map((v) => db.exec("INSERT INTO t VALUES(?)", [v]))
        const all = await Promise.all(reading)
        all.forEach((values, i) => {
          assert.deepEqual(values, upTo(counts[i] ?? 0))
        })
        const tips = (await Promise.all(writing)).map(({ tip }) => tip)
        assert.deepEqual(
          tips,
          upTo(20).map((i) => i + 2),
        )
        assert.deepEqual(await list(db, "SELECT v FROM t ORDER BY rowid"), upTo(20))
      },
    },
    {
      name: "a Statement can be asked, in rows of either shape",
      async run(ctx) {
        const db = await ctx.connect()
        const asked = statement`SELECT ${1} AS a, ${"b"} AS b`
        assert.deepEqual(await db.query(asked).all(), [{ a: 1, b: "b" }])
        assert.deepEqual(await db.query(asked, undefined, { rowMode: "array" }).all(), [[1, "b"]])
        const refused = await fails(db.query("SELECT nope").all(), "SQLITE_ERROR")
        assert.isFalse((refused as AgentDBError).retryable)
      },
    },
  ],
}
