import { expect, test } from "@playwright/test"
import { TestService } from "../../fixtures/service.ts"
import { settle, type WirePeer } from "../../fixtures/wire-peer.ts"

const counters = "SELECT last_insert_rowid(), changes(), total_changes()"

async function start() {
  const at = await TestService.start()
  const [a, b] = [await at.connect(), await at.connect()]
  await a.batch("CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE)", "CREATE TABLE log(id, changes, total)")
  return { at, a, b, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

test("the functions are refused outside a transaction, saying what to use, on every path and in views", async () => {
  await using db = await start()
  const { a } = db
  const cases: [string, RegExp][] = [
    ["SELECT last_insert_rowid()", /last_insert_id|RETURNING/],
    ["SELECT changes()", /rows_affected/],
    ["SELECT total_changes()", /rows_affected/],
    ["INSERT INTO t(x) VALUES(changes())", /rows_affected/],
    ["INSERT INTO t(x) VALUES(1) RETURNING last_insert_rowid()", /last_insert_id|RETURNING/],
    ["UPDATE t SET x = 1 WHERE total_changes() > 0", /rows_affected/],
  ]
  for (const [sql, instead] of cases) {
    for (const run of [a.exec, a.query]) {
      const { error } = await run.call(a, sql)
      expect(error, sql).toMatchObject({ code: "failed_precondition", message: expect.stringMatching(instead) })
    }
  }
  expect((await a.exec("CREATE VIEW v AS SELECT changes() AS c")).error).toBeUndefined()
  expect((await a.query("SELECT c FROM v")).error?.code).toBe("failed_precondition")
  expect((await a.batch("SELECT c FROM v")).rows).toEqual([[0n]])
  expect((await a.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
})

test("at its begin a transaction knows nothing of what any socket changed before; a batch neither", async () => {
  await using db = await start()
  const { a, b } = db
  await a.exec("INSERT INTO t(id, x) VALUES(70, 'a'), (71, 'b'), (72, 'c')")
  for (const peer of [a, b]) {
    await peer.begin()
    expect((await peer.query(counters)).rows).toEqual([[0n, 0n, 0n]])
    await peer.exec("UPDATE t SET x = 'z' WHERE 0")
    expect((await peer.query(counters)).rows).toEqual([[0n, 0n, 0n]])
    await peer.exec("INSERT INTO t(x) VALUES('d'), ('e')")
    expect((await peer.query(counters)).rows).toEqual([[74n, 2n, 2n]])
    await peer.exec("DELETE FROM t WHERE x = 'd'")
    await peer.exec("UPDATE t SET x = 'z' WHERE 0")
    expect((await peer.query(counters)).rows).toEqual([[74n, 0n, 3n]])
    await peer.rollback()
    const batch = await peer.batch(counters, "INSERT OR IGNORE INTO t(x) VALUES('a')", counters)
    expect(batch.rows).toEqual([
      [0n, 0n, 0n],
      [0n, 0n, 0n],
    ])
  }
  await b.begin()
  const ignore = "INSERT OR IGNORE INTO t(x) VALUES('a')"
  expect((await b.exec(ignore)).execs[0]).toMatchObject({ rowsAffected: 0n, lastInsertId: 0n })
  expect((await b.exec("INSERT INTO t(x) VALUES('f')")).execs[0]).toMatchObject({ rowsAffected: 1n, lastInsertId: 73n })
  expect((await b.exec(ignore)).execs[0]).toMatchObject({ rowsAffected: 0n, lastInsertId: 0n })
})

test("a trigger sees its own statement's counters, and nothing of another socket's", async () => {
  await using db = await start()
  const { a, b } = db
  const body = "INSERT INTO log VALUES(last_insert_rowid(), changes(), total_changes());"
  await a.exec(`CREATE TRIGGER g AFTER INSERT ON t BEGIN ${body} ${body} END`)
  await a.exec("CREATE TABLE other(y)")
  await a.exec("INSERT INTO other VALUES(1), (2), (3), (4), (5)")
  await b.exec("INSERT INTO t(id, x) VALUES(40, 'a')")
  expect((await b.query("SELECT * FROM log")).rows).toEqual([
    [40n, 0n, 0n],
    [1n, 1n, 1n],
  ])
})

test("the pragmas are refused outside, read or set; inside they work, and every end of a transaction takes them back", async () => {
  await using db = await start()
  const { at, a, b } = db
  for (const pragma of ["defer_foreign_keys", "recursive_triggers"]) {
    for (const sql of [`PRAGMA ${pragma}`, `PRAGMA ${pragma} = 1`]) {
      for (const run of [a.exec, a.query]) {
        const { error } = await run.call(a, sql)
        expect(error, sql).toMatchObject({
          code: "failed_precondition",
          message: expect.stringContaining("transaction"),
        })
      }
    }
  }
  const set = ["PRAGMA defer_foreign_keys = 1", "PRAGMA recursive_triggers = 1"] as const
  const read = async (peer: WirePeer) =>
    (await peer.batch("PRAGMA defer_foreign_keys", "PRAGMA recursive_triggers")).rows.flat()
  const ends: Record<string, (peer: WirePeer) => Promise<unknown>> = {
    commit: (peer) => peer.commit(),
    rollback: (peer) => peer.rollback(),
    "the engine's rollback": async (peer) => {
      await peer.exec("INSERT INTO t(x) VALUES('same')")
      await peer.exec("INSERT OR ROLLBACK INTO t(x) VALUES('same')")
      await peer.rollback()
    },
    "the socket's end": async (peer) => {
      peer.link.close()
      await settle(b)
    },
  }
  for (const [name, end] of Object.entries(ends)) {
    const peer = await at.connect()
    await peer.begin()
    for (const sql of set) expect((await peer.exec(sql)).error).toBeUndefined()
    expect(await read(peer), name).toEqual([1n, 1n])
    await end(peer)
    expect(await read(b), name).toEqual([0n, 0n])
  }
  const batch = await a.batch(...set, "PRAGMA defer_foreign_keys", "PRAGMA recursive_triggers")
  expect(batch.rows.flat()).toEqual([1n, 1n])
  expect(await read(b)).toEqual([0n, 0n])
  expect((await a.batch(set[1], "nonsense")).error?.code).toBe("SQLITE_ERROR")
  expect(await read(b)).toEqual([0n, 0n])
})

test("foreign keys are on, on every path; deferred they are checked at the commit", async () => {
  await using db = await start()
  const { a } = db
  await a.batch("CREATE TABLE p(id INTEGER PRIMARY KEY)", "CREATE TABLE c(p REFERENCES p ON DELETE CASCADE)")
  const orphan = "INSERT INTO c VALUES(1)"
  for (const run of [a.exec, a.query, a.batch]) {
    expect((await run.call(a, orphan)).error?.code).toBe("SQLITE_CONSTRAINT_FOREIGNKEY")
  }
  await a.begin()
  expect((await a.exec(orphan)).error?.code).toBe("SQLITE_CONSTRAINT_FOREIGNKEY")
  await a.exec("PRAGMA defer_foreign_keys = 1")
  expect((await a.exec(orphan)).error).toBeUndefined()
  expect((await a.exec("INSERT INTO p VALUES(1)")).error).toBeUndefined()
  expect((await a.commit()).error).toBeUndefined()
  const deferred = await a.batch("PRAGMA defer_foreign_keys = 1", "INSERT INTO c VALUES(2)", "INSERT INTO p VALUES(2)")
  expect(deferred.error).toBeUndefined()
  await a.exec("DELETE FROM p")
  expect((await a.query("SELECT count(*) FROM c")).rows).toEqual([[0n]])
})
