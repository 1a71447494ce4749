import { expect, test } from "@playwright/test"
import { createCancelRing } from "../../../src/link/cancel-ring.ts"
import { pushLater } from "../../fixtures/ring.ts"
import { TestService } from "../../fixtures/service.ts"

test("a batch answers in statement order after its commit, and every ExecResult carries the commit's tip", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const { kinds, execs, columns, rows, done } = await peer.batch(
    "CREATE TABLE t(id INTEGER PRIMARY KEY, x)",
    ["INSERT INTO t(x) VALUES(?), (?)", "a", "b"],
    "SELECT x FROM t ORDER BY id",
    "SELECT x FROM t WHERE 0",
    "UPDATE t SET x = 'c' WHERE id = 2 RETURNING id, x",
    "DELETE FROM t WHERE id = 1",
  )
  expect(kinds).toEqual([
    "execResult",
    "execResult",
    "columns",
    "columnBatch",
    "columns",
    "columns",
    "columnBatch",
    "execResult",
    "done",
  ])
  expect(execs).toMatchObject([
    { rowsAffected: 0n, lastInsertId: 0n, tip: 1n },
    { rowsAffected: 2n, lastInsertId: 2n, tip: 1n },
    { rowsAffected: 1n, lastInsertId: 0n, tip: 1n },
  ])
  expect(columns).toEqual([["x"], ["x"], ["id", "x"]])
  expect(rows).toEqual([["a"], ["b"], [2n, "c"]])
  expect(done).toMatchObject({ tip: 1n, totalRows: 3n })
})

test("C22 a failure undoes all of it and names the statement; the next batch works", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const failed = await peer.batch(
    "CREATE TABLE a(x)",
    "INSERT INTO a VALUES(1)",
    "INSERT INTO nope VALUES(1)",
    "INSERT INTO a VALUES(2)",
  )
  expect(failed.kinds).toEqual(["error"])
  expect(failed.error).toMatchObject({ code: "SQLITE_ERROR", message: "statement 2: no such table: nope" })
  expect((await peer.query("SELECT count(*) FROM sqlite_schema")).rows).toEqual([[0n]])
  await peer.exec("CREATE TABLE u(k UNIQUE)")
  const unique = await peer.batch("INSERT INTO u VALUES(1)", "INSERT INTO u VALUES(1)")
  expect(unique.error?.message).toBe("statement 1: UNIQUE constraint failed: u.k")
  expect((await peer.batch("INSERT INTO u VALUES(2)")).error).toBeUndefined()
  expect((await peer.batch("VACUUM")).error?.message).toBe("statement 0: cannot VACUUM from within a transaction")
  expect((await peer.exec("VACUUM")).error).toBeUndefined()
  expect((await peer.query("SELECT k FROM u")).rows).toEqual([[2n]])
})

test("an empty batch answers Done and opens nothing", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  expect(await peer.batch()).toMatchObject({ kinds: ["done"], done: { tip: 0n, totalRows: 0n } })
  expect((await peer.begin()).error).toBeUndefined()
})

test("a failure of the commit itself names no statement", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.batch(
    "CREATE TABLE p(id INTEGER PRIMARY KEY)",
    "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
  )
  const { error } = await peer.batch("INSERT INTO c VALUES(1)")
  expect(error).toMatchObject({ code: "SQLITE_CONSTRAINT_FOREIGNKEY", message: "FOREIGN KEY constraint failed" })
  expect((await peer.query("SELECT count(*) FROM c")).rows).toEqual([[0n]])
  expect((await peer.begin()).error).toBeUndefined()
})

test("savepoints, transaction control and several statements in one are refused inside a batch", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  const refused: [string, string][] = [
    ["SAVEPOINT s", "failed_precondition"],
    ["RELEASE s", "failed_precondition"],
    ["ROLLBACK TO s", "failed_precondition"],
    ["COMMIT", "failed_precondition"],
    ["SELECT 1; SELECT 2", "invalid_argument"],
    ["", "invalid_argument"],
  ]
  for (const [sql, code] of refused) {
    const { error } = await peer.batch("INSERT INTO t VALUES(1)", sql)
    expect(error, sql).toMatchObject({ code, message: expect.stringMatching(/^statement 1: /) })
  }
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
})

test("inside a transaction a batch is a savepoint of it", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await peer.begin()
  await peer.exec("INSERT INTO t VALUES(1)")
  const good = await peer.batch("INSERT INTO t VALUES(2)", "SELECT count(*) FROM t")
  expect(good).toMatchObject({ rows: [[2n]], done: { tip: 1n } })
  expect(good.execs[0]?.tip).toBe(1n)
  const bad = await peer.batch("INSERT INTO t VALUES(3)", "INSERT INTO nope VALUES(1)")
  expect(bad.error?.message).toBe("statement 1: no such table: nope")
  await peer.commit()
  expect((await peer.query("SELECT x FROM t ORDER BY x")).rows).toEqual([[1n], [2n]])
})

test("the savepoint of a batch is gone after it, whether it failed or not", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await peer.begin()
  for (const last of ["SELECT 1", "INSERT INTO nope VALUES(1)"]) {
    await peer.batch("INSERT INTO t VALUES(1)", last)
    for (const sql of ["RELEASE agentdb_part", "ROLLBACK TO agentdb_part"]) {
      expect((await peer.exec(sql)).error?.message, last).toBe("no such savepoint: agentdb_part")
    }
  }
  await peer.commit()
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[1n]])
})

test("credit of the batch paces its ColumnBatches, and only those", async () => {
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1, initialCredit: 2 })
  const peer = await at.connect()
  const three = "SELECT * FROM (VALUES(1),(2),(3))"
  const statements = [{ sql: three }, { sql: "CREATE TABLE t(x)" }, { sql: three }]
  const sent = peer.request({ case: "batch", value: { statements } }, { credits: [] })
  await peer.ping()
  await peer.ping()
  expect(peer.kinds(sent.id)).toEqual(["columns", "columnBatch", "columnBatch"])
  // Committed all the same.
  expect((await peer.exec("INSERT INTO t VALUES(1)")).error).toBeUndefined()
  peer.credit(sent.id, 1)
  await peer.ping()
  await peer.ping()
  expect(peer.kinds(sent.id).slice(3)).toEqual(["columnBatch", "execResult", "columns"])
  peer.credit(sent.id, 3)
  expect((await sent.answer).done?.totalRows).toBe(6n)
})

test("what a batch returns is bounded: above, nothing is applied", async () => {
  await using at = await TestService.start({ captureBytes: 10_000 })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  const { error } = await peer.batch("INSERT INTO t VALUES(1)", "SELECT zeroblob(6000)", "SELECT zeroblob(6000)")
  expect(error).toMatchObject({ code: "resource_exhausted", message: expect.stringMatching(/^statement 2: /) })
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
})

test("a statement of a batch that returns without end is stopped by that bound, long before its time is up", async () => {
  await using at = await TestService.start({ captureBytes: 10_000, statementMs: 5_000 })
  const peer = await at.connect()
  const endless = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c"
  expect((await peer.batch("SELECT 1", endless)).error?.code).toBe("resource_exhausted")
})

test("a batch takes the write turn as any write does", async () => {
  await using at = await TestService.start({ writeWaitMs: 150 })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(x)")
  await a.begin()
  expect((await b.batch("INSERT INTO t VALUES(1)")).error?.code).toBe("unavailable")
  await a.commit()
  expect((await b.batch("INSERT INTO t VALUES(1)")).error).toBeUndefined()
})

test("a batch of statements that are each too short to be polled is cancelled between them", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  const ring = createCancelRing()
  peer.link.signal({ sab: ring })
  const statements = Array.from({ length: 100_000 }, () => ({ sql: "INSERT INTO t VALUES(1)" }))
  const sent = peer.request({ case: "batch", value: { statements } })
  pushLater(ring, sent.id, 100)
  expect((await sent.answer).error?.code).toBe("canceled")
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
})
