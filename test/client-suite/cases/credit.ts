import { assert } from "../check.ts"
import type { Group } from "../context.ts"
import { numbers, oneRow } from "../sql.ts"
import type { Tap } from "../tap.ts"

/** What passed for the last query, from the query on. */
function ofLastQuery(tap: Tap) {
  const start = tap.log.findLastIndex(({ kind }) => kind === "query")
  const id = tap.log[start]?.requestId
  return tap.log.slice(start).filter(({ requestId }) => requestId === id)
}

const credits = (tap: Tap) => ofLastQuery(tap).flatMap(({ batches }) => batches ?? [])
const batchesIn = (tap: Tap) => ofLastQuery(tap).filter(({ kind }) => kind === "columnBatch").length

export const credit: Group = {
  name: "credit",
  cases: [
    {
      name: "what the window has beyond the implied 4 is sent behind the query, and then one a batch taken",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        const tap = ctx.tap(db)
        for (const [asked, first] of [
          [undefined, 4],
          [5, 1],
          [12, 8],
          // Never without one: a server with no initial window would not begin.
          [1, 1],
        ] as const) {
          const rows = db.query(numbers(40), [], { window: asked })[Symbol.asyncIterator]()
          await rows.next()
          assert.deepEqual(
            ofLastQuery(tap)
              .slice(0, 3)
              .map(({ way, kind, batches }) => [way, kind, batches]),
            [
              ["sent", "query", undefined],
              ["sent", "credit", first],
              ["received", "columns", undefined],
            ],
          )
          assert.deepEqual(credits(tap), [first, 1])
          for (let taken = 2; taken <= 10; taken++) {
            await rows.next()
            assert.deepEqual(credits(tap), [first, ...Array(taken).fill(1)])
          }
          // A reader that stands still gets no more than its window.
          const window = 10 + first + 4
          while (batchesIn(tap) < window) await db.ping()
          for (let i = 0; i < 10; i++) await db.ping()
          assert.strictEqual(batchesIn(tap), window)
          for (let next = await rows.next(); !next.done; next = await rows.next()) {}
          assert.strictEqual(ofLastQuery(tap).at(-1)?.kind, "done")
          assert.strictEqual(batchesIn(tap), 40)
        }
      },
    },
    {
      name: "whatever the batches, no frame is over its bound and nothing is lost",
      limits: { firstBatchBytes: 100, batchBytes: 1000 },
      async run(ctx) {
        const db = await ctx.connect()
        let expected = 0
        for await (const { x } of db.query<{ x: number }>(numbers(20_000))) assert.strictEqual(x, expected++)
        assert.strictEqual(expected, 20_000)
        assert.isAbove(batchesIn(ctx.tap(db)), 20)
      },
    },
    {
      name: "a batch's rows are paced too",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        const { results } = await db.batch([numbers(30), "SELECT 1 AS one", numbers(12)])
        assert.deepEqual(
          results.map((result) => "rows" in result && result.rows.length),
          [30, 1, 12],
        )
      },
    },
  ],
}
