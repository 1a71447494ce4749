import type { CallOptions, Connection, Transaction } from "agentdb-web/client"
import { assert, fails, failure, inTime, isCanceled, pause } from "../check.ts"
import type { Group } from "../context.ts"
import { list, numbers, oneRow, runaway } from "../sql.ts"

/** Every call that takes options. */
const calls: Record<string, (db: Connection, tx: Transaction, o: CallOptions) => Promise<unknown>> = {
  exec: (db, _tx, o) => db.exec("INSERT INTO t VALUES('x')", [], o),
  "query, all": (db, _tx, o) => db.query("SELECT 1", [], o).all(),
  "query, first": (db, _tx, o) => db.query("SELECT 1", [], o).first(),
  "query, columns": (db, _tx, o) => db.query("SELECT 1", [], o).columns(),
  "query, rows": (db, _tx, o) => db.query("SELECT 1", [], o)[Symbol.asyncIterator]().next(),
  "query, batches": (db, _tx, o) => db.query("SELECT 1", [], o).batches()[Symbol.asyncIterator]().next(),
  batch: (db, _tx, o) => db.batch(["INSERT INTO t VALUES('x')"], o),
  begin: (db, _tx, o) => db.begin(o),
  transaction: (db, _tx, o) => db.transaction((inner) => inner.exec("INSERT INTO t VALUES('x')"), o),
  "tx.exec": (_db, tx, o) => tx.exec("INSERT INTO t VALUES('x')", [], o),
  "tx.query": (_db, tx, o) => tx.query("SELECT 1", [], o).all(),
  "tx.batch": (_db, tx, o) => tx.batch(["INSERT INTO t VALUES('x')"], o),
  "tx.commit": (_db, tx, o) => tx.commit(o),
  "tx.transaction": (_db, tx, o) => tx.transaction((inner) => inner.exec("INSERT INTO t VALUES('x')"), o),
}

export const stopping: Group = {
  name: "signal and timeoutMs",
  cases: [
    {
      name: "an aborted signal: nothing is sent, and the error is an AbortError of code canceled",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const tx = await db.begin()
        const before = ctx.sent(db).length
        for (const [name, call] of Object.entries(calls)) {
          await isCanceled(call(db, tx, { signal: AbortSignal.abort() }), name)
          await isCanceled(call(db, tx, { signal: AbortSignal.abort("why"), timeoutMs: 5 }), name)
        }
        assert.strictEqual(ctx.sent(db).length, before)
        // Of all those calls none has ended the transaction.
        await tx.exec("INSERT INTO t VALUES('mine')")
        await tx.commit()
        assert.deepEqual(await list(db, "SELECT v FROM t"), ["mine"])
      },
    },
    {
      name: "the reason of the signal is the error's cause",
      async run(ctx) {
        const db = await ctx.connect()
        const error = await failure(db.exec("SELECT 1", [], { signal: AbortSignal.abort("not today") }))
        assert.strictEqual(error.cause, "not today")
      },
    },
    {
      name: "aborted while it waits for the write turn: canceled, and it never runs",
      async run(ctx) {
        const [db, holder] = [await ctx.connect(), await ctx.connect()]
        await db.exec("CREATE TABLE t(v)")
        for (const [name, call] of Object.entries(calls)) {
          if (name.startsWith("tx.") || name.startsWith("query")) continue
          const tx = await holder.begin()
          const abort = new AbortController()
          const waiting = call(db, tx, { signal: abort.signal })
          setTimeout(() => abort.abort(), 20)
          await isCanceled(waiting, name)
          // Sockets have no order among each other: the Cancel must be there before the turn is.
          await db.ping()
          await tx.rollback()
          // The turn is free: had it stayed in the queue it would run now.
          await holder.exec("INSERT INTO t VALUES('after')")
          assert.deepEqual(await list(db, "DELETE FROM t RETURNING v"), ["after"], name)
        }
      },
    },
    {
      name: "timeoutMs: deadline_exceeded, and it never runs",
      async run(ctx) {
        const [db, holder] = [await ctx.connect(), await ctx.connect()]
        await db.exec("CREATE TABLE t(v)")
        for (const [name, call] of Object.entries(calls)) {
          if (name.startsWith("tx.") || name.startsWith("query")) continue
          const tx = await holder.begin()
          await fails(call(db, tx, { timeoutMs: 20 }), "deadline_exceeded", "20 ms", name)
          await db.ping()
          await tx.rollback()
          await holder.exec("INSERT INTO t VALUES('after')")
          assert.deepEqual(await list(db, "DELETE FROM t RETURNING v"), ["after"], name)
        }
      },
    },
    {
      name: "a stream's signal and timeout hold until its end",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        const abort = new AbortController()
        const aborted = db.query(numbers(100_000), [], { signal: abort.signal })
        const reading = (async () => {
          for await (const { x } of aborted) if (x === 50) abort.abort()
        })()
        await isCanceled(reading)
        await isCanceled(aborted.done)

        const late = db.query(numbers(100_000), [], { timeoutMs: 100 })
        const slowly = async () => {
          for await (const _row of late) await pause(5)
        }
        await fails(slowly(), "deadline_exceeded")
        await fails(late.done, "deadline_exceeded")
        assert.strictEqual(ctx.sent(db).filter((kind) => kind === "cancel").length, 2)
        assert.deepEqual(await list(db, "SELECT 1"), [1])
      },
    },
    {
      name: "a signal that is aborted afterwards changes nothing",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const abort = new AbortController()
        const o = { signal: abort.signal, timeoutMs: 60_000 }
        await db.exec("INSERT INTO t VALUES(1)", [], o)
        const stream = db.query("SELECT v FROM t", [], o)
        await stream.all()
        await db.batch(["INSERT INTO t VALUES(2)"], o)
        await db.transaction((tx) => tx.exec("INSERT INTO t VALUES(3)"), o)
        abort.abort()
        await db.ping()
        assert.deepEqual(await stream.done, { tip: 2, totalRows: 1 })
        assert.deepEqual(await list(db, "SELECT v FROM t"), [1, 2, 3])
        assert.notInclude(ctx.sent(db), "cancel")
      },
    },
    {
      name: "a signal that is used for many calls keeps none of them",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const { signal } = new AbortController()
        let listening = 0
        const add = signal.addEventListener.bind(signal)
        const remove = signal.removeEventListener.bind(signal)
        Object.assign(signal, {
          addEventListener: (...args: Parameters<typeof add>) => {
            listening++
            add(...args)
          },
          removeEventListener: (...args: Parameters<typeof remove>) => {
            listening--
            remove(...args)
          },
        })
        const tx = await db.begin()
        for (const [name, call] of Object.entries(calls)) {
          if (name === "tx.commit" || name === "begin") continue
          if (name.startsWith("tx.")) await call(db, tx, { signal })
        }
        await tx.rollback()
        await db.exec("SELECT 1", [], { signal })
        await db.batch(["SELECT 1"], { signal })
        await (await db.begin({ signal })).rollback()
        await db.transaction((inner) => inner.exec("SELECT 1"), { signal })
        await db.query(numbers(10), [], { signal }).all()
        await db.query(numbers(100), [], { signal }).first()
        for await (const _row of db.query(numbers(100), [], { signal })) break
        await failure(db.query("SELECT nope", [], { signal }).all())
        await failure(db.exec("SELECT ?", [undefined as never], { signal }))
        db.query(numbers(10), [], { signal }).cancel()
        assert.strictEqual(listening, 0)
      },
    },
    {
      name: "a timeoutMs that is no number of milliseconds is a TypeError; a very long one is no timeout",
      async run(ctx) {
        const db = await ctx.connect()
        for (const timeoutMs of [-1, Number.NaN]) {
          assert.instanceOf(await failure(db.exec("SELECT 1", [], { timeoutMs })), TypeError)
          assert.instanceOf(await failure(db.query("SELECT 1", [], { timeoutMs }).all()), TypeError)
        }
        await db.exec("SELECT 1", [], { timeoutMs: Number.POSITIVE_INFINITY })
        await db.exec("SELECT 1", [], { timeoutMs: 2 ** 40 })
        await fails(db.exec("SELECT 1", [], { timeoutMs: 0 }), "deadline_exceeded")
      },
    },
    {
      name: "a whole transaction under a signal: rolled back, without waiting for fn",
      async run(ctx) {
        for (const db of [await ctx.connect(), await ctx.connectSingle()]) {
          await db.exec("DROP TABLE IF EXISTS t")
          await db.exec("CREATE TABLE t(v)")
          const abort = new AbortController()
          let inside: Promise<unknown> | undefined
          const running = db.transaction(
            async (tx) => {
              await tx.exec("INSERT INTO t VALUES(1)")
              abort.abort()
              inside = failure(tx.exec("INSERT INTO t VALUES(2)"))
              await new Promise(() => {})
            },
            { signal: abort.signal },
          )
          await isCanceled(running)
          await inside
          await fails(
            db.transaction((tx) => tx.exec("INSERT INTO t VALUES(3)").then(() => new Promise(() => {})), {
              timeoutMs: 50,
            }),
            "deadline_exceeded",
          )
          assert.deepEqual(await list(db, "SELECT v FROM t"), [])
          await db.transaction((tx) => tx.exec("INSERT INTO t VALUES(4)"))
          assert.deepEqual(await list(db, "SELECT v FROM t"), [4])
        }
      },
    },
    {
      name: "the service's own limit ends a statement with deadline_exceeded, and the connection goes on",
      limits: { statementMs: 100 },
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        await fails(db.exec(runaway), "deadline_exceeded")
        await fails(db.query(runaway).all(), "deadline_exceeded")
        await fails(db.batch(["INSERT INTO t VALUES(1)", runaway]), "deadline_exceeded")
        await fails(
          db.transaction((tx) => tx.exec(runaway)),
          "deadline_exceeded",
        )
        assert.deepEqual(await list(db, "SELECT count(*) FROM t"), [0])
      },
    },
    {
      name: "a statement that runs away is interrupted, on every path, and nobody else is",
      needs: "worker",
      async run(ctx) {
        const [db, other] = [await ctx.connect(), await ctx.connect()]
        await db.exec("CREATE TABLE t(v)")
        const write = `INSERT INTO t ${runaway}`
        const targets: ((o: CallOptions) => Promise<unknown>)[] = [
          (o) => db.query(runaway, [], o).all(),
          (o) => db.exec(write, [], o),
          (o) => db.batch(["INSERT INTO t VALUES(1)", write], o),
          (o) => db.transaction((tx) => tx.exec(write), o),
          (o) => db.transaction((tx) => tx.exec(write, [], o)),
        ]
        for (const target of targets) {
          const abort = new AbortController()
          const running = target({ signal: abort.signal })
          const bystanders = Promise.all([list(db, numbers(2000)), list(other, numbers(2000))])
          setTimeout(() => abort.abort(), 100)
          await isCanceled(inTime(running, 10_000, "the target"))
          for (const { length } of await inTime(bystanders, 10_000, "a bystander")) assert.strictEqual(length, 2000)
          await fails(target({ timeoutMs: 100 }), "deadline_exceeded")
          assert.deepEqual(await inTime(list(other, "SELECT count(*) FROM t"), 10_000, "the next"), [0])
        }
      },
    },
  ],
}
