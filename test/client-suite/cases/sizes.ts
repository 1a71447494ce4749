import { assert, fails, inTime } from "../check.ts"
import type { Group } from "../context.ts"
import { list } from "../sql.ts"

const MiB = 1024 * 1024

/** C50's value. */
function pattern(bytes: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(bytes)
  for (let i = 0; i < bytes; i++) out[i] = (i * 31 + 7) & 255
  return out
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}

const patternHash = "5fb0aaa17596052a5f084afdee1d9560c93ebafdb5f5f8e1995179c1456a06b1"

export const sizes: Group = {
  name: "sizes",
  cases: [
    {
      name: "C50 a blob of 15 MiB goes in and comes back, alone and next to small rows",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        const blob = pattern(15_728_640)
        await db.exec("INSERT INTO t VALUES(2, ?)", [blob])
        assert.strictEqual(blob.byteLength, 15_728_640)
        await db.ping()
        const isWhole = async (value: unknown, about: string) => {
          assert.instanceOf(value, Uint8Array, about)
          assert.strictEqual((value as Uint8Array).byteLength, 15_728_640, about)
          assert.strictEqual(await sha256(value as Uint8Array<ArrayBuffer>), patternHash, about)
        }
        await isWhole((await list(db, "SELECT v FROM t"))[0], "alone")
        await db.batch(["INSERT INTO t VALUES(1, 'small')", "INSERT INTO t VALUES(3, 'small')"])
        const [before, large, after] = await list(db, "SELECT v FROM t ORDER BY id")
        assert.deepEqual([before, after], ["small", "small"])
        await isWhole(large, "between small rows")
        const { results } = await db.batch(["SELECT v FROM t ORDER BY id"])
        const [result] = results
        assert.ok(result && "rows" in result)
        await isWhole(result.rows[1]?.["v"], "in a batch")
        await db.ping()
      },
    },
    {
      name: "a frame over 16 MiB is refused here, on every path, and the socket stays",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const tap = ctx.tap(db)
        const params = [new Uint8Array(16 * MiB)]
        const sql = "INSERT INTO t VALUES(?)"
        const tx = await db.begin()
        const before = ctx.sent(db).length
        const calls: (() => Promise<unknown>)[] = [
          () => db.exec(sql, params),
          () => db.query(sql, params).all(),
          () => db.query(sql, params).columns(),
          () => db.batch([{ sql, params }]),
          () => tx.exec(sql, params),
          () => tx.query(sql, params).all(),
          () => tx.batch([{ sql, params }]),
          () => db.exec(`SELECT '${"x".repeat(16 * MiB)}'`),
          // Each is small enough, but they go in one frame.
          () => db.batch([0, 1, 2].map(() => ({ sql, params: [new Uint8Array(6 * MiB)] }))),
        ]
        for (const call of calls) await fails(inTime(call(), 10_000, "a call"), "resource_exhausted")
        assert.strictEqual(ctx.sent(db).length, before)
        await tx.exec("INSERT INTO t VALUES(1)")
        await tx.commit()
        assert.isTrue(tap.isOpen)
        await db.ping()
        assert.deepEqual(await list(db, "SELECT v FROM t"), [1])
      },
    },
    {
      name: "C50 a blob of 100 MiB is refused here",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        await fails(db.exec("INSERT INTO t VALUES(?)", [new Uint8Array(100 * MiB)]), "resource_exhausted")
        await db.ping()
        assert.deepEqual(await list(db, "SELECT count(*) FROM t"), [0])
      },
    },
    {
      name: "C50 a long literal, and a value over the engine's own limit",
      async run(ctx) {
        const db = await ctx.connect()
        assert.deepEqual(await list(db, `SELECT length('${"x".repeat(200_000)}')`), [200_000])
        await fails(db.query("SELECT zeroblob(1000000001)").all(), "SQLITE_TOOBIG")
        await fails(db.exec("SELECT zeroblob(1000000001)"), "SQLITE_TOOBIG")
        await db.ping()
        assert.deepEqual(await list(db, "SELECT 1"), [1])
      },
    },
    {
      name: "a row that fits no frame is an error, nothing truncated, and the connection goes on",
      async run(ctx) {
        const db = await ctx.connect()
        await fails(db.query("SELECT 1 AS v UNION ALL SELECT zeroblob(17 * 1024 * 1024)").all(), "resource_exhausted")
        assert.deepEqual(await list(db, "SELECT length(zeroblob(17 * 1024 * 1024))"), [17 * MiB])
      },
    },
  ],
}
