import { expect, test } from "@playwright/test"
import { createCancelRing } from "../../../src/link/cancel-ring.ts"
import { pushLater } from "../../fixtures/ring.ts"
import { TestService } from "../../fixtures/service.ts"
import type { WirePeer } from "../../fixtures/wire-peer.ts"

const oneRow = { firstBatchBytes: 1, batchBytes: 1 }
const zeros = { rowsAffected: 0n, lastInsertId: 0n }
const numbers = async (peer: WirePeer) => (await peer.query("SELECT x FROM t ORDER BY x")).rows.map(([x]) => Number(x))

async function withTable(limits: Parameters<typeof TestService.start>[0] = {}) {
  const at = await TestService.start(limits)
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(x)")
  return { at, a, b, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

test("begin, commit and rollback answer zeros and the tip; inside, the tip is that of the begin", async () => {
  await using db = await withTable()
  const { a } = db
  expect((await a.begin()).execs[0]).toMatchObject({ ...zeros, tip: 1n })
  expect((await a.exec("INSERT INTO t VALUES(1)")).execs[0]).toMatchObject({
    rowsAffected: 1n,
    lastInsertId: 1n,
    tip: 1n,
  })
  expect((await a.query("SELECT count(*) FROM t")).done?.tip).toBe(1n)
  expect((await a.commit()).execs[0]).toMatchObject({ ...zeros, tip: 2n })
  await a.begin()
  await a.exec("INSERT INTO t VALUES(2)")
  expect((await a.rollback()).execs[0]).toMatchObject({ ...zeros, tip: 2n })
  await a.begin()
  expect((await a.commit()).execs[0]).toMatchObject({ ...zeros, tip: 2n })
  expect(await numbers(a)).toEqual([1])
})

test("inside too an insert that was ignored has no last_insert_id", async () => {
  await using db = await withTable()
  const { a } = db
  await a.exec("CREATE TABLE u(id INTEGER PRIMARY KEY)")
  await a.begin()
  expect((await a.exec("INSERT INTO u VALUES(5)")).execs[0]).toMatchObject({ rowsAffected: 1n, lastInsertId: 5n })
  expect((await a.exec("INSERT OR IGNORE INTO u VALUES(5)")).execs[0]).toMatchObject(zeros)
  expect((await a.batch("INSERT OR IGNORE INTO u VALUES(5)")).execs[0]).toMatchObject(zeros)
})

test("others see nothing before the commit, and read on meanwhile", async () => {
  await using db = await withTable()
  const { a, b } = db
  await a.begin()
  await a.exec("INSERT INTO t VALUES(1)")
  expect(await numbers(a)).toEqual([1])
  expect(await numbers(b)).toEqual([])
  expect((await b.exec("SELECT * FROM t")).error).toBeUndefined()
  await a.commit()
  expect(await numbers(b)).toEqual([1])
})

test("a second begin, and commit or rollback without one, are failed_precondition and change nothing", async () => {
  await using db = await withTable()
  const { a } = db
  expect((await a.commit()).error?.code).toBe("failed_precondition")
  expect((await a.rollback()).error?.code).toBe("failed_precondition")
  await a.begin()
  await a.exec("INSERT INTO t VALUES(1)")
  expect((await a.begin()).error?.code).toBe("failed_precondition")
  await a.commit()
  expect(await numbers(a)).toEqual([1])
})

test("the write turn is given in arrival order", async () => {
  await using db = await withTable()
  const { at, a, b } = db
  const c = await at.connect()
  await a.begin()
  const order: string[] = []
  const second = b.begin().then(() => order.push("b"))
  await b.ping()
  const third = c.exec("INSERT INTO t VALUES(3)").then(() => order.push("c"))
  await c.ping()
  await a.rollback()
  await second
  await b.exec("INSERT INTO t VALUES(2)")
  await b.commit()
  await third
  expect(order).toEqual(["b", "c"])
  expect(await numbers(a)).toEqual([2, 3])
})

test("a request waits for the turn at most writeWaitMs, then is unavailable and was not executed", async () => {
  await using db = await withTable({ writeWaitMs: 200 })
  const { a, b } = db
  await a.begin()
  const blocked = [b.exec("INSERT INTO t VALUES(1)"), b.batch("INSERT INTO t VALUES(2)"), b.begin()]
  for (const answer of blocked) expect((await answer).error?.code).toBe("unavailable")
  expect((await b.query("INSERT INTO t VALUES(3) RETURNING x")).error?.code).toBe("unavailable")
  await a.rollback()
  expect(await numbers(b)).toEqual([])
  expect((await b.exec("INSERT INTO t VALUES(4)")).error).toBeUndefined()
})

test("C27 closing the socket rolls back and frees the turn at once", async () => {
  await using db = await withTable()
  const { a, b } = db
  await a.begin()
  await a.exec("INSERT INTO t VALUES(1)")
  const next = b.exec("INSERT INTO t VALUES(2)")
  await b.ping()
  a.link.close()
  expect((await next).error).toBeUndefined()
  expect(await numbers(b)).toEqual([2])
})

test("C24 transaction control as SQL text is refused, naming the frame to use", async () => {
  await using db = await withTable()
  const { a, b } = db
  const texts: [string, RegExp][] = [
    ["BEGIN", /begin/i],
    ["/*x*/ begin immediate", /begin/i],
    ["END", /commit/i],
    ["COMMIT", /commit/i],
    ["ROLLBACK", /rollback/i],
  ]
  for (const [sql, frame] of texts) {
    for (const run of [a.exec.bind(a), a.query.bind(a)]) {
      const { error } = await run(sql)
      expect(error, sql).toMatchObject({ code: "failed_precondition", message: expect.stringMatching(frame) })
    }
  }
  for (const sql of ["SAVEPOINT s", "RELEASE s", "ROLLBACK TO s"]) {
    expect((await a.exec(sql)).error?.code, sql).toBe("failed_precondition")
  }
  await a.begin()
  expect((await a.exec("COMMIT")).error?.code).toBe("failed_precondition")
  await a.exec("INSERT INTO t VALUES(1)")
  a.link.close()
  await b.exec("INSERT INTO t VALUES(2)")
  expect(await numbers(b)).toEqual([2])
})

test("C25 savepoints work inside a transaction, and an unknown one leaves it usable", async () => {
  await using db = await withTable()
  const { a } = db
  await a.begin()
  for (const sql of [
    "INSERT INTO t VALUES(1)",
    "SAVEPOINT a",
    "INSERT INTO t VALUES(2)",
    "SAVEPOINT b",
    "INSERT INTO t VALUES(3)",
    "ROLLBACK TO a",
    "INSERT INTO t VALUES(4)",
    "RELEASE a",
  ]) {
    expect((await a.exec(sql)).error, sql).toBeUndefined()
  }
  expect((await a.exec("RELEASE nope")).error?.message).toBe("no such savepoint: nope")
  expect((await a.commit()).error).toBeUndefined()
  expect(await numbers(a)).toEqual([1, 4])
})

test("a stream inside never sees writes made after it began, whichever they are", async () => {
  await using db = await withTable(oneRow)
  const { a } = db
  await a.exec("INSERT INTO t VALUES(1),(2),(3),(4),(5),(6),(7),(8)")
  const writes: [string, (peer: WirePeer) => Promise<unknown>][] = [
    ["insert", (peer) => peer.exec("INSERT INTO t SELECT x + 100 FROM t")],
    ["delete", (peer) => peer.exec("DELETE FROM t")],
    ["ddl", (peer) => peer.exec("DROP TABLE t")],
    ["batch", (peer) => peer.batch("DELETE FROM t")],
    ["returning", (peer) => peer.query("DELETE FROM t RETURNING x")],
    ["rollback to", (peer) => peer.exec("ROLLBACK TO s")],
    ["rollback", (peer) => peer.rollback()],
  ]
  for (const [name, write] of writes) {
    await a.begin()
    await a.exec("SAVEPOINT s")
    await a.exec("INSERT INTO t VALUES(9)")
    // Without a sorter, which would read everything at its first step.
    const stream = a.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
    await a.ping()
    await write(a)
    if (name !== "rollback") expect((await a.rollback()).error, name).toBeUndefined()
    a.credit(stream.id, 100)
    const { rows, error } = await stream.answer
    expect(error, name).toBeUndefined()
    expect(
      rows.map(([x]) => Number(x)),
      name,
    ).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(await numbers(a), name).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  }
})

test("a stream of the transaction lives on after the commit, from rows taken ahead", async () => {
  await using db = await withTable(oneRow)
  const { a, b } = db
  await a.exec("INSERT INTO t VALUES(1),(2),(3),(4),(5),(6)")
  await a.begin()
  const stream = a.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
  await a.exec("INSERT INTO t VALUES(7)")
  expect((await a.commit()).error).toBeUndefined()
  await b.exec("DELETE FROM t")
  a.credit(stream.id, 100)
  expect((await stream.answer).rows.length).toBe(6)
})

test("rows taken ahead are bounded: the stream ends in resource_exhausted, the write and the transaction go on", async () => {
  await using db = await withTable({ ...oneRow, captureBytes: 20_000 })
  const { a } = db
  await a.begin()
  await a.exec(
    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 1000) INSERT INTO t SELECT randomblob(100) FROM c",
  )
  const stream = a.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
  await a.ping()
  expect((await a.exec("DELETE FROM t")).execs[0]?.rowsAffected).toBe(1000n)
  expect((await stream.answer).error?.code).toBe("resource_exhausted")
  expect((await a.commit()).error).toBeUndefined()
})

test("a writing query inside that returns too much undoes only itself", async () => {
  await using db = await withTable({ captureBytes: 5_000 })
  const { a } = db
  await a.begin()
  await a.exec("INSERT INTO t VALUES(1)")
  const sql =
    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 500) INSERT INTO t SELECT randomblob(99) FROM c RETURNING x"
  expect((await a.query(sql)).error?.code).toBe("resource_exhausted")
  expect((await a.query("INSERT INTO t VALUES(2) RETURNING x")).rows).toEqual([[2n]])
  await a.commit()
  expect(await numbers(a)).toEqual([1, 2])
})

test("a commit that fails leaves the transaction open and says so", async () => {
  await using db = await withTable()
  const { a } = db
  await a.exec("CREATE TABLE p(id INTEGER PRIMARY KEY)")
  await a.exec("CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
  await a.begin()
  await a.exec("INSERT INTO c VALUES(1)")
  const { error } = await a.commit()
  expect(error).toMatchObject({ code: "SQLITE_CONSTRAINT_FOREIGNKEY", message: expect.stringContaining("still open") })
  await a.exec("INSERT INTO p VALUES(1)")
  expect((await a.commit()).error).toBeUndefined()
  expect((await a.query("SELECT count(*) FROM c")).rows).toEqual([[1n]])
})

test("after the engine ended the transaction every statement is aborted until a rollback: never silent autocommit", async () => {
  await using db = await withTable()
  const { a, b } = db
  await a.exec("CREATE TABLE u(k UNIQUE ON CONFLICT ROLLBACK)")
  for (const clear of ["rollback", "commit"] as const) {
    await a.begin()
    await a.exec("INSERT INTO u VALUES(1)")
    expect((await a.exec("INSERT INTO u VALUES(1)")).error?.code).toBe("SQLITE_CONSTRAINT_UNIQUE")
    expect((await a.exec("INSERT INTO t VALUES(1)")).error?.code).toBe("aborted")
    expect((await a.query("SELECT 1")).error?.code).toBe("aborted")
    expect((await a.batch("INSERT INTO t VALUES(2)")).error?.code).toBe("aborted")
    expect((await a.begin()).error?.code).toBe("aborted")
    // The turn is free again already.
    expect((await b.exec("INSERT INTO t VALUES(7)")).error).toBeUndefined()
    expect((await a[clear]()).error?.code).toBe(clear === "commit" ? "aborted" : undefined)
    expect((await a.query("SELECT count(*) FROM u")).rows).toEqual([[0n]])
  }
  expect(await numbers(a)).toEqual([7, 7])
})

test("C26 an idle transaction is rolled back, its next statement and commit get aborted, and others go on", async () => {
  await using db = await withTable({ txIdleMs: 300, writeWaitMs: 4000 })
  const { a, b } = db
  await a.begin()
  await a.exec("INSERT INTO t VALUES(42)")
  const waiting = b.exec("INSERT INTO t VALUES(7)")
  expect((await waiting).error).toBeUndefined()
  expect((await a.exec("INSERT INTO t VALUES(43)")).error).toMatchObject({
    code: "aborted",
    message: expect.stringContaining("idle"),
  })
  expect((await a.commit()).error?.code).toBe("aborted")
  expect(await numbers(a)).toEqual([7])
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect((await a.exec("INSERT INTO t VALUES(8)")).error).toBeUndefined()
})

test("a transaction that is busy but too long ends as well, and its open stream with it", async () => {
  await using db = await withTable({ ...oneRow, txTotalMs: 500, txIdleMs: 10_000 })
  const { a } = db
  await a.exec("INSERT INTO t VALUES(1),(2),(3),(4),(5),(6)")
  await a.begin()
  const stream = a.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
  const { error } = await stream.answer
  expect(error).toMatchObject({ code: "aborted", message: expect.stringContaining("500 ms") })
  expect((await a.exec("DELETE FROM t")).error?.code).toBe("aborted")
  await a.rollback()
  expect((await a.exec("INSERT INTO t VALUES(7)")).error).toBeUndefined()
})

test("interrupting a running write rolls back the whole transaction and puts the socket in the aborted state", async () => {
  await using db = await withTable()
  const { a } = db
  const ring = createCancelRing()
  a.link.signal({ sab: ring })
  await a.begin()
  await a.exec("INSERT INTO t VALUES(1)")
  const sql = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c) INSERT INTO t SELECT i FROM c WHERE i < 0"
  const write = a.request({ case: "exec", value: { sql } })
  pushLater(ring, write.id, 100)
  expect((await write.answer).error?.code).toBe("canceled")
  expect((await a.exec("INSERT INTO t VALUES(2)")).error?.code).toBe("aborted")
  await a.rollback()
  expect(await numbers(a)).toEqual([])
})

test("interrupting a read leaves the transaction open", async () => {
  await using db = await withTable({ statementMs: 200 })
  const { a } = db
  await a.begin()
  await a.exec("INSERT INTO t VALUES(1)")
  const sql = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c) SELECT sum(i) FROM c"
  expect((await a.query(sql)).error?.code).toBe("deadline_exceeded")
  expect((await a.commit()).error).toBeUndefined()
  expect(await numbers(a)).toEqual([1])
})

test("nothing is local to a connection outside a transaction; inside it is, until the end", async () => {
  await using db = await withTable()
  const { a } = db
  const local = ["SELECT last_insert_rowid()", "SELECT changes()", "SELECT total_changes()"]
  const pragmas = ["PRAGMA defer_foreign_keys = 1", "PRAGMA recursive_triggers = 1"]
  for (const sql of [...local, ...pragmas]) expect((await a.query(sql)).error?.code, sql).toBe("failed_precondition")
  await a.begin()
  await a.exec("INSERT INTO t VALUES(1)")
  expect((await a.query("SELECT last_insert_rowid(), changes()")).rows).toEqual([[1n, 1n]])
  for (const sql of pragmas) expect((await a.exec(sql)).error, sql).toBeUndefined()
  expect((await a.query("PRAGMA recursive_triggers")).rows).toEqual([[1n]])
  await a.commit()
  await a.begin()
  expect((await a.query("PRAGMA recursive_triggers")).rows).toEqual([[0n]])
  expect((await a.query("SELECT last_insert_rowid()")).rows).toEqual([[0n]])
  await a.rollback()
  const batch = await a.batch("INSERT INTO t VALUES(2)", "SELECT last_insert_rowid()")
  expect(batch.rows).toEqual([[2n]])
})

test("a trigger may use the functions that a statement may not", async () => {
  await using db = await withTable()
  const { a } = db
  await a.exec("CREATE TABLE log(id)")
  expect(
    (await a.exec("CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES(last_insert_rowid()); END")).error,
  ).toBeUndefined()
  expect((await a.exec("INSERT INTO t VALUES(1)")).error).toBeUndefined()
  expect((await a.query("SELECT count(*) FROM log")).rows).toEqual([[1n]])
})

test("C32 others only ever see all of a transaction or nothing, and the tip never goes down", async () => {
  await using db = await withTable()
  const { a, b } = db
  const seen = new Set<string>()
  let tip = 0n
  let polling = true
  const poll = (async () => {
    while (polling) {
      const { rows, done } = await b.query("SELECT count(*) FROM t")
      seen.add(String(rows[0]?.[0]))
      expect(done?.tip as bigint).toBeGreaterThanOrEqual(tip)
      tip = done?.tip as bigint
    }
  })()
  for (const end of ["commit", "rollback"] as const) {
    await a.begin()
    for (let i = 0; i < 100; i++) await a.exec(`INSERT INTO t VALUES(${i})`)
    await a[end]()
    expect((await b.query("SELECT count(*) FROM t")).rows).toEqual([[100n]])
  }
  polling = false
  await poll
  expect([...seen].sort()).toEqual(["0", "100"])
})
