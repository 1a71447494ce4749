import { expect, test } from "@playwright/test"
import type { RunContext } from "../../../src/sqlite/interrupt.ts"
import { execute, failureOf, one, startDatabase, unlimited } from "../../fixtures/engine.ts"

const runaway = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c"

test("a statement ends at its limit of running time", async () => {
  const { database } = await startDatabase()
  const run: RunContext = { ranMs: 0, limitMs: 40, stopped: undefined }
  expect(failureOf(() => execute(database.writer, runaway, [], "autocommit", run))?.code).toBe("deadline_exceeded")
  expect(run.stopped).toBe("deadline_exceeded")
  expect(run.ranMs).toBeGreaterThanOrEqual(40)
  expect(one(database.writer, "SELECT 1")).toBe(1)
})

test("running time adds up over steps, and time spent before counts", async () => {
  const { database } = await startDatabase()
  const run: RunContext = { ranMs: 1_000_000, limitMs: 1_000_001, stopped: undefined }
  expect(failureOf(() => execute(database.writer, runaway, [], "autocommit", run))?.code).toBe("deadline_exceeded")
})

test("a statement ends at its deadline", async () => {
  const { database } = await startDatabase()
  const run: RunContext = { ...unlimited(), deadline: performance.now() + 20 }
  expect(failureOf(() => execute(database.writer, runaway, [], "autocommit", run))?.code).toBe("deadline_exceeded")
})

test("a statement is canceled by what is polled, and told how long it has run", async () => {
  const { database } = await startDatabase()
  let heard = 0
  const isCanceled = (ranMs: number): boolean => {
    heard = ranMs
    return ranMs > 10
  }
  const run: RunContext = { ...unlimited(), isCanceled }
  expect(failureOf(() => execute(database.writer, runaway, [], "autocommit", run))?.code).toBe("canceled")
  expect(heard).toBeGreaterThan(10)
})

test("a poll that throws does not end the statement", async () => {
  const { database } = await startDatabase()
  let polls = 0
  const isCanceled = (): boolean => {
    polls++
    throw new Error("no signal")
  }
  const sql = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 20000) SELECT count(*) FROM c"
  const run: RunContext = { ...unlimited(), isCanceled }
  expect(execute(database.writer, sql, [], "autocommit", run).rows).toEqual([[20_000]])
  expect(polls).toBeGreaterThan(10)
})

test("interrupting a write rolls the whole transaction back", async () => {
  const { database } = await startDatabase()
  const { writer } = database
  execute(writer, "CREATE TABLE t(x)")
  writer.run("BEGIN IMMEDIATE")
  execute(writer, "INSERT INTO t VALUES (1)", [], "transaction")
  const run: RunContext = { ...unlimited(), isCanceled: (ranMs) => ranMs > 5 }
  const sql = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) INSERT INTO t SELECT i FROM c"
  expect(failureOf(() => execute(writer, sql, [], "transaction", run))?.code).toBe("canceled")
  expect(writer.inTransaction).toBe(false)
  expect(one(writer, "SELECT count(*) FROM t")).toBe(0)
  database.close()
})

test("a long statement beats once a second, and at once where its limit is lower than the one told before", async () => {
  const { engine, database } = await startDatabase()
  const beats: [ranMs: number, limitMs: number][] = []
  engine.onBusy = (ranMs, limitMs) => beats.push([ranMs, limitMs])
  const run: RunContext = { ranMs: 0, limitMs: 2_300, stopped: undefined }
  expect(failureOf(() => execute(database.writer, runaway, [], "autocommit", run))?.code).toBe("deadline_exceeded")
  // Before it, only statements of our own ran, which have no limit.
  expect(beats[0]).toEqual([0, 2_300])
  expect(beats.length).toBeGreaterThanOrEqual(2)
  expect(beats.length).toBeLessThanOrEqual(3)
  expect(beats[1]?.[0]).toBeGreaterThanOrEqual(1_000)
  beats.length = 0
  for (const limitMs of [500, 500, 60_000, 400]) {
    execute(database.writer, "SELECT 1", [], "autocommit", { ranMs: 0, limitMs, stopped: undefined })
  }
  expect(beats).toEqual([
    [0, 500],
    [0, 400],
  ])
})
