import type { Connection, RowStream } from "agentdb-web/client"
import { assert, asyncDispose, fails, failure, isCanceled, pause } from "../check.ts"
import type { Context, Group } from "../context.ts"
import { list, numbers, oneRow } from "../sql.ts"

const limits = { ...oneRow, openStreams: 2 }

/** Opens as many streams as the database may have, so that none is left of anybody. */
async function occupy(db: Connection): Promise<RowStream<unknown>[]> {
  const streams = [db.query(numbers(1000)), db.query(numbers(1000))]
  for (const stream of streams) await stream.columns()
  return streams
}

/** Checks that no stream is open on the database, by opening all that may be. */
async function noneIsOpen(ctx: Context, db: Connection, about: string): Promise<void> {
  const prober = await ctx.connect()
  // What the leaver sent has arrived by its Pong.
  await db.ping()
  try {
    const streams = await occupy(prober)
    await fails(prober.query("SELECT 1").all(), "resource_exhausted")
    for (const stream of streams) stream.cancel()
  } catch (error) {
    throw new Error(`${about}: a cursor is still open`, { cause: error })
  }
  await prober.close()
  await db.ping()
}

/** Each way of leaving a stream of 1,000 one-row batches. */
const ways: Record<string, (stream: RowStream<{ x: number }>, abort: AbortController) => Promise<void>> = {
  async break(stream) {
    for await (const { x } of stream) if (x === 2) break
  },
  async throw(stream) {
    const boom = new Error("boom")
    try {
      for await (const { x } of stream) if (x === 2) throw boom
    } catch (error) {
      assert.strictEqual(error, boom)
    }
  },
  async return(stream) {
    const firstOver = async () => {
      for await (const { x } of stream) if (x > 3) return x
      return -1
    }
    assert.strictEqual(await firstOver(), 4)
  },
  async "the iterator's return"(stream) {
    const rows = stream[Symbol.asyncIterator]()
    await rows.next()
    assert.deepEqual(await rows.return?.(), { done: true, value: undefined })
    assert.deepEqual(await rows.next(), { done: true, value: undefined })
  },
  async "break out of batches()"(stream) {
    for await (const { rows } of stream.batches()) {
      assert.strictEqual(rows, 1)
      break
    }
  },
  async "first()"(stream) {
    assert.deepEqual(await stream.first(), { x: 0 })
  },
  async "cancel() while it is read"(stream) {
    const reading = (async () => {
      for await (const { x } of stream) if (x === 5) stream.cancel()
    })()
    await isCanceled(reading)
  },
  async "cancel() after columns()"(stream) {
    await stream.columns()
    stream.cancel()
    await isCanceled(stream.all())
  },
  async "an aborted signal"(stream, abort) {
    const reading = (async () => {
      for await (const { x } of stream) if (x === 5) abort.abort()
    })()
    await isCanceled(reading)
  },
  async "an aborted signal while nobody reads"(stream, abort) {
    const rows = stream[Symbol.asyncIterator]()
    await rows.next()
    await pause(5)
    abort.abort()
    await isCanceled(rows.next())
  },
  async "await using"(stream) {
    await using scoped = stream
    await scoped.columns()
  },
}

export const leaving: Group = {
  name: "leaving a stream early",
  cases: [
    {
      name: "frees its cursor at once, whichever way",
      limits,
      async run(ctx) {
        const db = await ctx.connect()
        for (const [name, leave] of Object.entries(ways)) {
          const abort = new AbortController()
          const stream = db.query<{ x: number }>(numbers(1000), [], { signal: abort.signal })
          await leave(stream, abort)
          await isCanceled(stream.done, name)
          assert.include(ctx.tap(db).sentKinds.slice(-8), "cancel", name)
          await noneIsOpen(ctx, db, name)
        }
      },
    },
    {
      name: "before it started: nothing is ever sent",
      limits,
      async run(ctx) {
        const db = await ctx.connect()
        for (const leave of [
          (stream: RowStream<unknown>) => stream.cancel(),
          (stream: RowStream<unknown>) => stream[asyncDispose](),
          async (stream: RowStream<unknown>) => {
            await stream[Symbol.asyncIterator]().return?.()
          },
        ]) {
          const stream = db.query(numbers(1000))
          await leave(stream)
          await isCanceled(stream.done)
          await isCanceled(stream.all())
          await isCanceled(stream.columns())
        }
        const abandoned = db.query(numbers(1000))
        assert.isFunction(abandoned.all)
        await noneIsOpen(ctx, db, "never started")
        assert.deepEqual(ctx.sent(db), [])
      },
    },
    {
      name: "a stream that was read to its end sends no Cancel, and may be left again",
      limits,
      async run(ctx) {
        const db = await ctx.connect()
        {
          await using stream = db.query(numbers(20))
          assert.strictEqual((await stream.all()).length, 20)
          stream.cancel()
          assert.strictEqual((await stream.done).totalRows, 20)
        }
        assert.notInclude(ctx.sent(db), "cancel")
        await noneIsOpen(ctx, db, "read to its end")
      },
    },
    {
      name: "an error of the reader's options frees it too",
      limits,
      async run(ctx) {
        const db = await ctx.connect()
        const unsafe = `SELECT 9007199254740993 UNION ALL SELECT x FROM (${numbers(100)})`
        const number = db.query(unsafe, [], { integers: "number" })
        assert.instanceOf(await failure(number.all()), RangeError)
        await noneIsOpen(ctx, db, "integers: number")
        const strict = db.query(`SELECT CAST(x'ff' AS TEXT) UNION ALL SELECT x FROM (${numbers(100)})`, [], {
          text: "strict",
        })
        await fails(strict.all(), "invalid_response")
        await noneIsOpen(ctx, db, "text: strict")
      },
    },
    {
      name: "inside a transaction the transaction goes on",
      limits,
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        await db.transaction(async (tx) => {
          for (let i = 0; i < 5; i++) {
            await tx.query(numbers(1000)).first()
            for await (const _row of tx.query(numbers(1000))) break
            await tx.exec("INSERT INTO t VALUES(?)", [i])
          }
        })
        assert.deepEqual(await list(db, "SELECT count(*) FROM t"), [5])
        await noneIsOpen(ctx, db, "in a transaction")
      },
    },
    {
      name: "closing the connection frees what it had open",
      limits,
      async run(ctx) {
        const [db, other] = [await ctx.connect(), await ctx.connect()]
        await occupy(db)
        await fails(other.query("SELECT 1").all(), "resource_exhausted")
        await db.close()
        for (let free = false; !free; ) {
          free = await other
            .query("SELECT 1")
            .all()
            .then(
              () => true,
              () => false,
            )
        }
        await noneIsOpen(ctx, other, "closed")
      },
    },
  ],
}
