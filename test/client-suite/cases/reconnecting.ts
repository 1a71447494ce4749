import type { Connection, RowStream } from "agentdb-web/client"
import { assert, fails, failure, inTime, isCanceled } from "../check.ts"
import { type Group, token } from "../context.ts"
import { list, numbers, oneRow } from "../sql.ts"
import type { Tap } from "../tap.ts"

/** Ways of reading that hold rows back until they have all. */
const wholeReads: Record<string, (stream: RowStream<{ x: number }>) => Promise<number>> = {
  all: async (stream) => (await stream.all()).length,
  first: async (stream) => ((await stream.first())?.x === 0 ? 40 : -1),
  "for await": async (stream) => {
    let count = 0
    for await (const _row of stream) count++
    return count
  },
  batches: async (stream) => {
    let count = 0
    for await (const { rows } of stream.batches()) count += rows
    return count
  },
}

/** How often a frame of this kind was sent. */
const times = (taps: readonly Tap[], kind: string): number =>
  taps.flatMap((tap) => tap.sentKinds).filter((sent) => sent === kind).length

export const reconnecting: Group = {
  name: "a lost link",
  cases: [
    {
      name: "is made anew, with a token asked for again",
      async run(ctx) {
        let asked = 0
        const fresh = () => {
          asked++
          return token()
        }
        const db = await ctx.connect({ token: fresh })
        await db.exec("CREATE TABLE t(v)")
        for (let i = 1; i <= 3; i++) {
          ctx.cutLinks(db)
          assert.deepEqual(await inTime(list(db, "SELECT count(*) FROM t"), 10_000, "the next query"), [i - 1])
          await db.exec("INSERT INTO t VALUES(?)", [i])
        }
        assert.strictEqual(ctx.taps(db).length, 4)
        assert.strictEqual(asked, 4)
        assert.strictEqual(db.tip, 4)
      },
    },
    {
      name: "a query that has yielded nothing is asked again, and gives each row once",
      limits: oneRow,
      async run(ctx) {
        for (const [name, read] of Object.entries(wholeReads)) {
          const db = await ctx.connect({
            onlink: (tap, index) => {
              if (index === 0) tap.cutsAfterSending = "query"
            },
          })
          const stream = db.query<{ x: number }>(numbers(40))
          assert.strictEqual(await inTime(read(stream), 10_000, name), 40, name)
          if (name !== "first") assert.strictEqual((await stream.done).totalRows, 40)
          assert.strictEqual(times(ctx.taps(db), "query"), 2, name)
          await db.close()
        }
      },
    },
    {
      name: "all() gives nothing before the end, so it may lose its link in the middle",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect({
          onlink: (tap, index) => {
            if (index === 0) tap.cutsAfterReceiving = "columnBatch"
          },
        })
        const stream = db.query<{ x: number }>(numbers(40), [], { rowMode: "array" })
        assert.deepEqual(await stream.all(), Array.from({ length: 40 }, (_, x) => [x]) as never)
        assert.strictEqual((await stream.done).totalRows, 40)
        assert.strictEqual(times(ctx.taps(db), "query"), 2)
      },
    },
    {
      name: "a query that has yielded rows, or its columns, is disconnected",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        const stream = db.query<{ x: number }>(numbers(10_000))
        const seen: number[] = []
        const reading = (async () => {
          for await (const { x } of stream) {
            seen.push(x)
            if (x === 3) ctx.cutLinks(db)
          }
        })()
        await fails(reading, "disconnected")
        await fails(stream.done, "disconnected")
        assert.deepEqual(
          seen,
          seen.map((_, i) => i),
        )
        const known = db.query(numbers(10_000))
        await known.columns()
        ctx.cutLinks(db)
        await fails(known.all(), "disconnected")
        assert.strictEqual(times(ctx.taps(db), "query"), 2)
        assert.deepEqual(await list(db, "SELECT 1"), [1])
      },
    },
    {
      name: "exec, batch and a query that writes, when in flight, are disconnected and never sent twice",
      async run(ctx) {
        const setup = await ctx.connect()
        await setup.exec("CREATE TABLE t(v)")
        const calls: Record<string, (db: Connection) => Promise<unknown>> = {
          exec: (db) => db.exec("INSERT INTO t VALUES('exec')"),
          batch: (db) => db.batch(["INSERT INTO t VALUES('batch')"]),
          query: (db) => db.query("INSERT INTO t VALUES('query') RETURNING v").all(),
        }
        for (const [kind, call] of Object.entries(calls)) {
          const db = await ctx.connect({
            onlink: (tap) => {
              tap.cutsAfterSending = kind
            },
          })
          await fails(inTime(call(db), 10_000, kind), "disconnected", "outcome is unknown", kind)
          assert.deepEqual(await list(setup, "SELECT 1"), [1])
          assert.strictEqual(times(ctx.taps(db), kind), 1, kind)
          const [count] = await list(setup, "SELECT count(*) FROM t WHERE v = ?", [kind])
          assert.isAtMost(Number(count), 1, kind)
          await db.close()
        }
      },
    },
    {
      name: "a transaction is lost with its link, whatever it was doing, and is not begun again",
      async run(ctx) {
        const setup = await ctx.connect()
        await setup.exec("CREATE TABLE t(v)")
        for (const kind of ["exec", "batch", "query", "commit"]) {
          const db = await ctx.connect({
            onlink: (tap) => {
              tap.cutsAfterSending = kind
            },
          })
          let ran = 0
          const running = db.transaction(async (tx) => {
            ran++
            if (kind === "exec") await tx.exec("INSERT INTO t VALUES(?)", [kind])
            if (kind === "batch") await tx.batch([{ sql: "INSERT INTO t VALUES(?)", params: [kind] }])
            if (kind === "query") await tx.query("SELECT 1").all()
          })
          await fails(inTime(running, 10_000, kind), "disconnected", "", kind)
          assert.strictEqual(ran, 1)
          assert.strictEqual(times(ctx.taps(db), kind), 1, kind)
          await db.close()
        }
        assert.deepEqual(await list(setup, "SELECT v FROM t"), [])
        // Nobody holds the turn.
        await setup.exec("INSERT INTO t VALUES('free')")
      },
    },
    {
      name: "between two statements of a transaction: the next one says so, and nothing runs outside of it",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        const tx = await db.begin()
        await tx.exec("INSERT INTO t VALUES(1)")
        ctx.cutLinks(db)
        await fails(tx.exec("INSERT INTO t VALUES(2)"), "disconnected")
        await fails(tx.commit(), "disconnected")
        assert.deepEqual(await list(db, "SELECT v FROM t"), [])
        await db.transaction((tx) => tx.exec("INSERT INTO t VALUES(3)"))
        assert.deepEqual(await list(db, "SELECT v FROM t"), [3])
      },
    },
    {
      name: "with reconnect: false, and where there is one link, the connection is closed",
      async run(ctx) {
        for (const db of [await ctx.connect({ reconnect: false }), await ctx.connectSingle()]) {
          const running = failure(db.query(numbers(10)).all())
          ctx.cutLinks(db)
          assert.propertyVal(await running, "code", "disconnected")
          await fails(db.exec("SELECT 1"), "closed")
          await fails(db.query("SELECT 1").all(), "closed")
          await fails(db.begin(), "closed")
          await fails(db.ping(), "closed")
          assert.strictEqual(ctx.taps(db).length, 1)
        }
      },
    },
    {
      name: "a Hello that is refused as unavailable is said again, and calls wait",
      async run(ctx) {
        const refused = { code: "unavailable", message: "handover" }
        const db = await ctx.connect({
          onlink: (tap, index) => {
            if (index < 2 || (index > 2 && index < 5)) tap.refusesHello = refused
          },
        })
        assert.strictEqual(ctx.taps(db).length, 3)
        await db.exec("CREATE TABLE t(v)")
        ctx.cutLinks(db)
        const { rowsAffected } = await inTime(db.exec("INSERT INTO t VALUES(1)"), 10_000, "exec")
        assert.strictEqual(rowsAffected, 1)
        assert.strictEqual(ctx.taps(db).length, 6)
        assert.deepEqual(await list(db, "SELECT count(*) FROM t"), [1])
      },
    },
    {
      name: "what a handover answers with unavailable was not executed, and is sent again",
      async run(ctx) {
        const setup = await ctx.connect()
        await setup.exec("CREATE TABLE t(v)")
        const calls: Record<string, (db: Connection) => Promise<unknown>> = {
          exec: (db) => db.exec("INSERT INTO t VALUES('exec')"),
          batch: (db) => db.batch(["INSERT INTO t VALUES('batch')"]),
          query: (db) => db.query("INSERT INTO t VALUES('query') RETURNING v").all(),
          begin: (db) => db.transaction((tx) => tx.exec("INSERT INTO t VALUES('begin')")),
        }
        for (const [kind, call] of Object.entries(calls)) {
          let handovers = 0
          const db = await ctx.connect({
            onlink: (tap) => {
              // A transaction's link is its own.
              if (handovers++ < 2) tap.handsOver = kind
            },
          })
          await inTime(call(db), 10_000, kind)
          assert.isAtLeast(times(ctx.taps(db), kind), 2, kind)
          assert.deepEqual(await list(setup, "SELECT count(*) FROM t WHERE v = ?", [kind]), [1], kind)
          await db.close()
        }
      },
    },
    {
      name: "a begin whose link is lost is made anew: it has done nothing",
      async run(ctx) {
        const db = await ctx.connect({
          onlink: (tap, index) => {
            if (index === 1) tap.cutsAfterSending = "begin"
          },
        })
        await db.exec("CREATE TABLE t(v)")
        let ran = 0
        const running = db.transaction(async (tx) => {
          ran++
          await tx.exec("INSERT INTO t VALUES(1)")
        })
        await inTime(running, 10_000, "the transaction")
        assert.strictEqual(ran, 1)
        assert.strictEqual(times(ctx.taps(db), "begin"), 2)
        assert.deepEqual(await list(db, "SELECT v FROM t"), [1])
      },
    },
    {
      name: "a call that waits for the new one can be stopped, and is then never sent",
      async run(ctx) {
        let isGone = false
        const db = await ctx.connect({
          onlink: (tap) => {
            if (isGone) tap.refusesHello = { code: "unavailable", message: "handover" }
          },
        })
        await db.exec("CREATE TABLE t(v)")
        isGone = true
        ctx.cutLinks(db)
        const abort = new AbortController()
        const waiting = [
          db.exec("INSERT INTO t VALUES(1)", [], { signal: abort.signal }),
          db.batch(["INSERT INTO t VALUES(1)"], { signal: abort.signal }),
          db.query("INSERT INTO t VALUES(1) RETURNING v", [], { signal: abort.signal }).all(),
          db.transaction((tx) => tx.exec("INSERT INTO t VALUES(1)"), { signal: abort.signal }),
        ].map((call) => isCanceled(call))
        const late = fails(db.exec("INSERT INTO t VALUES(1)", [], { timeoutMs: 20 }), "deadline_exceeded")
        setTimeout(() => abort.abort(), 20)
        await inTime(Promise.all([...waiting, late]), 3_000, "what waited")
        isGone = false
        assert.deepEqual(await inTime(list(db, "SELECT count(*) FROM t"), 10_000, "the next query"), [0])
      },
    },
    {
      name: "a service that stays unavailable is waited for only so long",
      async run(ctx) {
        let isGone = false
        const db = await ctx.connect({
          // The first connect has as long, and no browser is to need more.
          reconnect: { maxWaitMs: 1_000, minDelayMs: 5, maxDelayMs: 20 },
          onlink: (tap) => {
            if (isGone) tap.refusesHello = { code: "unavailable", message: "handover" }
          },
        })
        isGone = true
        ctx.cutLinks(db)
        const calls: Promise<unknown>[] = [db.exec("SELECT 1"), db.query("SELECT 1").all(), db.begin()]
        const errors = await Promise.all(calls.map((call) => fails(inTime(call, 10_000, "a call"), "unavailable")))
        for (const { retryable } of errors) assert.isTrue(retryable)
        isGone = false
        assert.deepEqual(await inTime(list(db, "SELECT 1"), 10_000, "the next query"), [1])
      },
    },
    {
      name: "a Hello that is refused for good fails the calls that wait, with its code",
      async run(ctx) {
        let known = true
        const db = await ctx.connect({
          onlink: (tap) => {
            if (!known) tap.refusesHello = { code: "not_found", message: "no such database" }
          },
        })
        known = false
        ctx.cutLinks(db)
        await fails(inTime(db.exec("SELECT 1"), 5_000, "exec"), "not_found")
      },
    },
    {
      name: "close() while it is being made anew fails what waits",
      async run(ctx) {
        let isGone = false
        const db = await ctx.connect({
          onlink: (tap) => {
            if (isGone) tap.refusesHello = { code: "unavailable", message: "handover" }
          },
        })
        isGone = true
        ctx.cutLinks(db)
        const waiting = [db.exec("SELECT 1"), db.query("SELECT 1").all(), db.begin(), db.ping()].map((call) =>
          failure(call),
        )
        await inTime(db.close(), 2_000, "close()")
        for (const error of await inTime(Promise.all(waiting), 2_000, "what waited"))
          assert.propertyVal(error, "code", "closed")
      },
    },
  ],
}
