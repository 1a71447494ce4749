import type { Transaction } from "agentdb-web/client"
import { assert, asyncDispose, fails, failure, inTime, pause } from "../check.ts"
import type { Group } from "../context.ts"
import { list } from "../sql.ts"

export const transactions: Group = {
  name: "transaction",
  cases: [
    {
      name: "begin, commit and rollback; nobody else sees what is not committed",
      async run(ctx) {
        for (const db of [await ctx.connect(), await ctx.connectSingle()]) {
          const other = await ctx.connect()
          await db.exec("DROP TABLE IF EXISTS t")
          const { tip } = await db.exec("CREATE TABLE t(v)")
          const tx = await db.begin()
          assert.strictEqual((await tx.exec("INSERT INTO t VALUES(1)")).tip, tip)
          assert.deepEqual(await list(tx, "SELECT v FROM t"), [1])
          assert.deepEqual(await list(other, "SELECT v FROM t"), [])
          assert.deepEqual(await tx.commit(), { tip: tip + 1 })
          assert.deepEqual(await list(other, "SELECT v FROM t"), [1])

          const undone = await db.begin()
          await undone.exec("INSERT INTO t VALUES(2)")
          assert.strictEqual(await undone.rollback(), undefined)
          assert.deepEqual(await list(db, "SELECT v FROM t"), [1])
          for (const ended of [tx, undone]) {
            await fails(ended.exec("INSERT INTO t VALUES(3)"), "failed_precondition")
            await fails(ended.query("SELECT 1").all(), "failed_precondition")
            await fails(ended.batch(["SELECT 1"]), "failed_precondition")
            await fails(ended.commit(), "failed_precondition")
            await fails(ended.rollback(), "failed_precondition")
            await fails(
              ended.transaction(async () => {}),
              "failed_precondition",
            )
            await ended[asyncDispose]()
          }
          assert.deepEqual(await list(db, "SELECT v FROM t"), [1])
        }
      },
    },
    {
      name: "leaving its scope rolls back what was not committed",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        {
          await using tx = await db.begin()
          await tx.exec("INSERT INTO t VALUES(1)")
        }
        {
          await using tx = await db.begin()
          await tx.exec("INSERT INTO t VALUES(2)")
          await tx.commit()
        }
        const boom = new Error("boom")
        const scope = async () => {
          await using tx = await db.begin()
          await tx.exec("INSERT INTO t VALUES(3)")
          throw boom
        }
        assert.strictEqual(await failure(scope()), boom)
        assert.deepEqual(await list(db, "SELECT v FROM t"), [2])
      },
    },
    {
      name: "transaction(fn) commits on return and rolls back on throw, with the very error",
      async run(ctx) {
        for (const db of [await ctx.connect(), await ctx.connectSingle()]) {
          await db.exec("DROP TABLE IF EXISTS t")
          await db.exec("CREATE TABLE t(v)")
          const result = { any: "thing" }
          const returned = await db.transaction(async (tx) => {
            await tx.exec("INSERT INTO t VALUES(1)")
            return result
          })
          assert.strictEqual(returned, result)
          const boom = new Error("boom")
          const thrown = db.transaction(async (tx) => {
            await tx.exec("INSERT INTO t VALUES(2)")
            throw boom
          })
          assert.strictEqual(await failure(thrown), boom)
          const sync = db.transaction(() => {
            throw boom
          })
          assert.strictEqual(await failure(sync), boom)
          await fails(
            db.transaction((tx) => tx.exec("INSERT INTO nope VALUES(1)")),
            "SQLITE_ERROR",
            "no such table",
          )
          await db.transaction(async (tx) => {
            await tx.exec("INSERT INTO t VALUES(3)")
            await tx.rollback()
          })
          await db.transaction(async (tx) => {
            await tx.exec("INSERT INTO t VALUES(4)")
            await tx.commit()
          })
          assert.deepEqual(await list(db, "SELECT v FROM t"), [1, 4])
        }
      },
    },
    {
      name: "C25 savepoints in SQL",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        await db.transaction(async (tx) => {
          for (const sql of [
            "INSERT INTO t VALUES(1)",
            "SAVEPOINT a",
            "INSERT INTO t VALUES(2)",
            "SAVEPOINT b",
            "INSERT INTO t VALUES(3)",
            "ROLLBACK TO a",
            "INSERT INTO t VALUES(4)",
            "RELEASE a",
          ])
            await tx.exec(sql)
          await fails(tx.exec("RELEASE nope"), "SQLITE_ERROR", "no such savepoint: nope")
          for (const control of ["BEGIN", "COMMIT", "END", "ROLLBACK"]) {
            await fails(tx.exec(control), "failed_precondition", "", control)
            await fails(tx.query(control).all(), "failed_precondition", "", control)
          }
        })
        assert.deepEqual(await list(db, "SELECT v FROM t ORDER BY v"), [1, 4])
        for (const control of [
          "BEGIN",
          "/*x*/ begin immediate",
          "SAVEPOINT s",
          "END",
          "COMMIT",
          "RELEASE s",
          "ROLLBACK",
        ])
          await fails(db.exec(control), "failed_precondition", "", control)
      },
    },
    {
      name: "C25 a transaction inside a transaction undoes its own part only",
      async run(ctx) {
        for (const db of [await ctx.connect(), await ctx.connectSingle()]) {
          await db.exec("DROP TABLE IF EXISTS t")
          await db.exec("CREATE TABLE t(v)")
          const boom = new Error("boom")
          await db.transaction(async (tx) => {
            await tx.exec("INSERT INTO t VALUES(1)")
            const failed = tx.transaction(async (inner) => {
              await inner.exec("INSERT INTO t VALUES(2)")
              await inner.transaction((innermost) => innermost.exec("INSERT INTO t VALUES(3)"))
              throw boom
            })
            assert.strictEqual(await failure(failed), boom)
            const kept = await tx.transaction(async (inner) => {
              await inner.exec("INSERT INTO t VALUES(4)")
              const lost = inner.transaction(async (innermost) => {
                await innermost.exec("INSERT INTO t VALUES(5)")
                throw boom
              })
              assert.strictEqual(await failure(lost), boom)
              await inner.exec("INSERT INTO t VALUES(6)")
              return 6
            })
            assert.strictEqual(kept, 6)
            await tx.exec("INSERT INTO t VALUES(7)")
          })
          assert.deepEqual(await list(db, "SELECT v FROM t ORDER BY v"), [1, 4, 6, 7])
        }
      },
    },
    {
      name: "a stream of it that has begun goes on after its end; one that has not is refused",
      limits: { firstBatchBytes: 1, batchBytes: 1 },
      async run(ctx) {
        for (const db of [await ctx.connect(), await ctx.connectSingle()]) {
          await db.exec("DROP TABLE IF EXISTS t")
          await db.batch([
            "CREATE TABLE t(v)",
            "INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)",
          ])
          for (const end of ["commit", "rollback"] as const) {
            const tx = await db.begin()
            const begun = tx.query("SELECT v FROM t", [], { window: 5 })
            await begun.columns()
            await tx.exec("UPDATE t SET v = v + 100")
            const unread = tx.query("SELECT v FROM t")
            await tx[end]()
            await db.transaction((next) => next.exec("UPDATE t SET v = v + 1000"))
            // As the rows were when it began.
            const expected = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((v) => (end === "commit" ? v : v + 1100))
            assert.deepEqual(
              (await begun.all()).map(({ v }) => v),
              expected,
            )
            await fails(unread.all(), "failed_precondition")
          }
        }
      },
    },
    {
      name: "an inner transaction ends with its outer one",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        let kept: Transaction | undefined
        await db.transaction(async (tx) => {
          await tx.transaction(async (inner) => {
            kept = inner
            await inner.exec("INSERT INTO t VALUES(1)")
          })
          await fails(kept?.exec("INSERT INTO t VALUES(2)") as Promise<unknown>, "failed_precondition")
        })
        await fails(kept?.exec("INSERT INTO t VALUES(3)") as Promise<unknown>, "failed_precondition")
        assert.deepEqual(await list(db, "SELECT v FROM t"), [1])
      },
    },
    {
      name: "C20 parallel calls on tx run in call order, inner transactions among them",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const running = db.transaction(async (tx) => {
          const insert = (v: number) => tx.exec("INSERT INTO t VALUES(?)", [v])
          await Promise.all([
            insert(1),
            insert(2),
            tx.transaction(async (inner) => {
              await inner.exec("INSERT INTO t VALUES(3)")
              await pause(10)
              await inner.exec("INSERT INTO t VALUES(4)")
            }),
            insert(5),
            tx.batch(["INSERT INTO t VALUES(6)"]),
            tx.query("INSERT INTO t VALUES(7) RETURNING v").all(),
          ])
        })
        await inTime(running, 5_000, "the transaction")
        assert.deepEqual(await list(db, "SELECT v FROM t ORDER BY rowid"), [1, 2, 3, 4, 5, 6, 7])
      },
    },
    {
      name: "a commit that fails for the data's sake: begin's stays open, transaction(fn)'s is rolled back",
      async run(ctx) {
        for (const db of [await ctx.connect(), await ctx.connectSingle()]) {
          await db.batch(["DROP TABLE IF EXISTS c", "DROP TABLE IF EXISTS p"])
          await db.batch([
            "CREATE TABLE p(id INTEGER PRIMARY KEY)",
            "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
          ])
          const tx = await db.begin()
          await tx.exec("INSERT INTO c VALUES(1)")
          await fails(tx.commit(), "SQLITE_CONSTRAINT_FOREIGNKEY", "still open")
          await tx.exec("INSERT INTO p VALUES(1)")
          await tx.commit()
          assert.deepEqual(await list(db, "SELECT p FROM c"), [1])

          await fails(
            db.transaction((tx) => tx.exec("INSERT INTO c VALUES(2)")),
            "SQLITE_CONSTRAINT_FOREIGNKEY",
          )
          assert.deepEqual(await list(db, "SELECT p FROM c"), [1])
          // The turn is free again.
          await db.exec("INSERT INTO p VALUES(3)")
          await (await ctx.connect()).exec("INSERT INTO p VALUES(4)")
        }
      },
    },
    {
      name: "one that the engine ended is aborted until it is rolled back, never autocommit",
      async run(ctx) {
        for (const db of [await ctx.connect(), await ctx.connectSingle()]) {
          await db.exec("DROP TABLE IF EXISTS t")
          await db.batch(["CREATE TABLE t(v UNIQUE)", "INSERT INTO t VALUES(1)"])
          const conflict = "INSERT OR ROLLBACK INTO t VALUES(1)"
          const tx = await db.begin()
          await tx.exec("INSERT INTO t VALUES(2)")
          await fails(tx.exec(conflict), "SQLITE_CONSTRAINT_UNIQUE")
          await fails(tx.exec("INSERT INTO t VALUES(3)"), "aborted")
          await fails(tx.query("SELECT 1").all(), "aborted")
          await fails(tx.batch(["INSERT INTO t VALUES(3)"]), "aborted")
          await tx.rollback()
          const committed = await db.begin()
          await fails(committed.exec(conflict), "SQLITE_CONSTRAINT_UNIQUE")
          await fails(committed.commit(), "aborted")

          await fails(
            db.transaction(async (tx) => {
              await tx.exec("INSERT INTO t VALUES(4)")
              await failure(tx.exec(conflict))
              // Going on regardless must not look like a success.
            }),
            "aborted",
          )
          assert.deepEqual(await list(db, "SELECT v FROM t"), [1])
          await db.transaction((tx) => tx.exec("INSERT INTO t VALUES(5)"))
          assert.deepEqual(await list(db, "SELECT v FROM t"), [1, 5])
        }
      },
    },
    {
      name: "C26 an idle one is aborted at its limit, and others get the turn",
      limits: { txIdleMs: 200, writeWaitMs: 4_000 },
      async run(ctx) {
        const [a, b] = [await ctx.connect(), await ctx.connect()]
        await a.exec("CREATE TABLE t(v)")
        const tx = await a.begin()
        await tx.exec("INSERT INTO t VALUES(42)")
        await b.exec("INSERT INTO t VALUES(7)")
        await fails(tx.exec("INSERT INTO t VALUES(43)"), "aborted")
        await fails(tx.commit(), "aborted")
        assert.deepEqual(await list(b, "SELECT v FROM t"), [7])
        await pause(300)
        await a.exec("INSERT INTO t VALUES(8)")
        assert.deepEqual(await list(b, "SELECT v FROM t"), [7, 8])
      },
    },
    {
      name: "who waits for the turn in vain gets unavailable, sent once",
      limits: { writeWaitMs: 100 },
      async run(ctx) {
        const [holder, waiter] = [await ctx.connect(), await ctx.connect()]
        await holder.exec("CREATE TABLE t(v)")
        const tx = await holder.begin()
        const calls = {
          exec: () => waiter.exec("INSERT INTO t VALUES(1)"),
          query: () => waiter.query("INSERT INTO t VALUES(1) RETURNING v").all(),
          batch: () => waiter.batch(["INSERT INTO t VALUES(1)"]),
          begin: () => waiter.begin(),
          transaction: () => waiter.transaction((tx) => tx.exec("INSERT INTO t VALUES(1)")),
        }
        for (const [name, call] of Object.entries(calls)) {
          const before = ctx.sent(waiter).length
          const error = await fails(call(), "unavailable", "", name)
          assert.isTrue(error.retryable)
          const kind = name === "transaction" ? "begin" : name
          assert.strictEqual(
            ctx
              .sent(waiter)
              .slice(before > 0 && kind === "begin" ? 0 : before)
              .filter((sent) => sent === kind).length,
            name === "transaction" ? 2 : 1,
            name,
          )
        }
        assert.deepEqual(await list(waiter, "SELECT count(*) FROM t"), [0])
        await tx.commit()
        await waiter.exec("INSERT INTO t VALUES(1)")
      },
    },
  ],
}
