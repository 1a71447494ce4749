import { mintToken } from "../../../src/wire/jwt.ts"
import { assert, asyncDispose, fails, failure, inTime, isCanceled, pause } from "../check.ts"
import { type Group, token } from "../context.ts"
import { list, numbers, oneRow } from "../sql.ts"

export const lifecycle: Group = {
  name: "connection",
  cases: [
    {
      name: "C68 close() twice during a stream and an open transaction",
      limits: oneRow,
      async run(ctx) {
        for (const db of [await ctx.connect(), await ctx.connectSingle()]) {
          await db.exec("DROP TABLE IF EXISTS t")
          await db.batch(["CREATE TABLE t(v)", "INSERT INTO t VALUES(1)"])
          const stream = db.query(numbers(100_000))
          const rows = stream[Symbol.asyncIterator]()
          await rows.next()
          const tx = await db.begin()
          await tx.exec("INSERT INTO t VALUES(2)")
          const running = failure(tx.batch(["INSERT INTO t VALUES(3)"]))
          await inTime(Promise.all([db.close(), db.close()]), 2_000, "close()")

          const keepReading = async () => {
            for (let next = await rows.next(); !next.done; next = await rows.next()) {}
          }
          await fails(keepReading(), "closed")
          await fails(stream.done, "closed")
          assert.propertyVal(await running, "code", "closed")
          const late: (() => Promise<unknown>)[] = [
            () => tx.exec("INSERT INTO t VALUES(4)"),
            () => tx.query("SELECT 1").all(),
            () => tx.commit(),
            () => tx.rollback(),
            () => db.exec("SELECT 1"),
            () => db.query("SELECT 1").all(),
            () => db.query("SELECT 1").columns(),
            () => db.batch(["SELECT 1"]),
            () => db.begin(),
            () => db.transaction(async () => {}),
            () => db.ping(),
          ]
          for (const call of late) await fails(inTime(call(), 1_000, "a call after close()"), "closed")
          await tx[asyncDispose]()
          await db.close()
          const again = await ctx.connect()
          assert.deepEqual(await list(again, "SELECT v FROM t"), [1])
          await again.exec("INSERT INTO t VALUES(5)")
        }
      },
    },
    {
      name: "leaving its scope closes it",
      async run(ctx) {
        const scope = async () => {
          await using db = await ctx.connect()
          await db.exec("CREATE TABLE t(v)")
          return db
        }
        const db = await scope()
        await fails(db.exec("SELECT 1"), "closed")
        assert.isFalse(ctx.tap(db).isOpen)
      },
    },
    {
      name: "close() ends the sockets of its transactions too",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        await Promise.all([1, 2, 3].map((v) => db.transaction((tx) => tx.exec("INSERT INTO t VALUES(?)", [v]))))
        const tx = await db.begin()
        assert.isAbove(ctx.taps(db).length, 1)
        await db.close()
        assert.deepEqual(
          ctx.taps(db).filter((tap) => tap.isOpen),
          [],
        )
        await fails(tx.exec("SELECT 1"), "closed")
      },
    },
    {
      name: "C52 a refused Hello rejects with the reason, which is asked for once",
      async run(ctx) {
        const now = Math.floor(Date.now() / 1000)
        const links: unknown[] = []
        const o = { onlink: (tap: unknown) => links.push(tap) }
        await fails(ctx.connect({ ...o, token: "" }), "unauthenticated")
        await fails(ctx.connect({ ...o, token: "a.b.c" }), "unauthenticated")
        await fails(ctx.connect({ ...o, token: mintToken("devkey", "wrong", now) }), "unauthenticated")
        await fails(
          ctx.connect({ ...o, token: mintToken("devkey", "secret", now - 10_000_000) }),
          "unauthenticated",
          "expired",
        )
        assert.strictEqual(links.length, 4)
      },
    },
    {
      name: "the token may come from a function, also later; what that throws is connect's error",
      async run(ctx) {
        const db = await ctx.connect({ token: () => pause(5).then(token) })
        assert.deepEqual(await list(db, "SELECT 1"), [1])
        const boom = new Error("no token today")
        const error = await failure(
          ctx.connect({
            token: () => {
              throw boom
            },
          }),
        )
        assert.include(error.message, "no token today")
      },
    },
    {
      name: "connect can be aborted, before and while the token is on its way",
      async run(ctx) {
        await isCanceled(ctx.connect({ signal: AbortSignal.abort() }))
        const abort = new AbortController()
        const connecting = ctx.connect({ signal: abort.signal, token: () => new Promise(() => {}) })
        setTimeout(() => abort.abort(), 20)
        await isCanceled(inTime(connecting, 2_000, "connect"))
        // It ends the attempt, not the connection.
        const later = new AbortController()
        const db = await ctx.connect({ signal: later.signal })
        later.abort()
        assert.deepEqual(await list(db, "SELECT 1"), [1])
      },
    },
  ],
}
