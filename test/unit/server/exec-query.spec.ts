import { expect, test } from "@playwright/test"
import { TestService } from "../../fixtures/service.ts"
import { type Cell, type Given, settle } from "../../fixtures/wire-peer.ts"

test("exec answers what changed, and zeros for anything that is no INSERT, UPDATE, DELETE or REPLACE", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const cases: [string, bigint, bigint, bigint][] = [
    ["CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, n)", 0n, 0n, 1n],
    ["INSERT INTO t(u, n) VALUES('a', 1), ('b', 2)", 2n, 2n, 2n],
    ["CREATE TABLE x(y)", 0n, 0n, 3n],
    ["SELECT * FROM t", 0n, 0n, 3n],
    ["INSERT OR IGNORE INTO t(u) VALUES('a')", 0n, 0n, 3n],
    ["INSERT INTO t(u, n) VALUES('a', 5) ON CONFLICT(u) DO UPDATE SET n = excluded.n", 1n, 0n, 4n],
    ["UPDATE t SET n = n + 1", 2n, 0n, 5n],
    ["UPDATE t SET n = 0 WHERE 0", 0n, 0n, 5n],
    ["EXPLAIN INSERT INTO t(u) VALUES('c')", 0n, 0n, 5n],
    ["WITH v(k) AS (VALUES('c')) INSERT INTO t(u) SELECT k FROM v", 1n, 3n, 6n],
    ["REPLACE INTO t(id, u) VALUES(1, 'a')", 1n, 1n, 7n],
    ["INSERT INTO t(u) VALUES('d') RETURNING id", 1n, 4n, 8n],
    ["CREATE TABLE w(k TEXT PRIMARY KEY) WITHOUT ROWID", 0n, 0n, 9n],
    ["INSERT INTO w VALUES('k')", 1n, 0n, 10n],
    ["DELETE FROM t", 4n, 0n, 11n],
    ["PRAGMA user_version = 3", 0n, 0n, 12n],
    ["PRAGMA user_version = 3", 0n, 0n, 13n],
    ["CREATE TABLE IF NOT EXISTS t(x)", 0n, 0n, 13n],
    ["CREATE TABLE c AS SELECT 1 AS one", 0n, 0n, 14n],
    ["VACUUM", 0n, 0n, 15n],
    ["ANALYZE", 0n, 0n, 16n],
  ]
  for (const [sql, rowsAffected, lastInsertId, tip] of cases) {
    const { execs, error } = await peer.exec(sql)
    expect(error, sql).toBeUndefined()
    expect(execs[0], sql).toMatchObject({ rowsAffected, lastInsertId, tip })
  }
})

test("a statement that fails after it committed a part is answered once that part is durable, and holds nobody up", async () => {
  // Time stands still: nothing but the commit itself brings the flush.
  await using at = await TestService.start({}, { clock: { now: () => Date.now(), after: () => () => {} } })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(id INTEGER PRIMARY KEY)")
  const sql = "INSERT OR FAIL INTO t VALUES(1), (2), (1)"
  expect((await a.exec(sql)).error?.code).toBe("SQLITE_CONSTRAINT_PRIMARYKEY")
  expect((await b.query("SELECT id FROM t")).rows).toEqual([[1n], [2n]])
  expect((await a.query(sql.replaceAll(/[12]/g, "3"))).error?.code).toBe("SQLITE_CONSTRAINT_PRIMARYKEY")
  expect((await b.query("SELECT count(*) FROM t")).done?.tip).toBe(3n)
})

test("exec runs a statement to its end and discards its rows; so does each of a batch, where nothing leaves before the end", async () => {
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1 })
  const peer = await at.connect()
  const overflow = "SELECT abs(column1) FROM (VALUES(1),(2),(3),(-9223372036854775808))"
  for (const inside of [false, true]) {
    if (inside) await peer.begin()
    expect((await peer.exec("SELECT * FROM (VALUES(1),(2),(3),(4),(5),(6))")).kinds).toEqual(["execResult"])
    expect(await peer.exec(overflow)).toMatchObject({ kinds: ["error"], error: { message: "integer overflow" } })
    expect(await peer.batch("SELECT 1", overflow)).toMatchObject({
      kinds: ["error"],
      error: { message: "statement 1: integer overflow" },
    })
  }
  expect((await peer.commit()).error).toBeUndefined()
})

test("another socket's id never shows as last_insert_id", async () => {
  await using at = await TestService.start()
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE)")
  expect((await a.exec("INSERT INTO t VALUES(77, 'x')")).execs[0]?.lastInsertId).toBe(77n)
  const upsert = await b.exec("INSERT INTO t(u) VALUES('x') ON CONFLICT(u) DO UPDATE SET u = 'y'")
  expect(upsert.execs[0]).toMatchObject({ rowsAffected: 1n, lastInsertId: 0n })
})

test("C12 columns come always, also for no rows, and empty for a statement that has none", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT)")
  const empty = await peer.query("SELECT id, title, 1+1, count(*) OVER () AS c FROM t WHERE 0")
  expect(empty.columns).toEqual([["id", "title", "1+1", "c"]])
  expect(empty.kinds).toEqual(["columns", "done"])
  expect(empty.done).toMatchObject({ totalRows: 0n, tip: 1n })
  for (const sql of ["CREATE TABLE u(x)", "DELETE FROM t WHERE 0", "PRAGMA user_version=7"]) {
    const { kinds, columns, done } = await peer.query(sql)
    expect(kinds, sql).toEqual(["columns", "done"])
    expect(columns, sql).toEqual([[]])
    expect(done?.totalRows, sql).toBe(0n)
  }
})

test("values come back as they went in, through query, exec, batch and a transaction", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const values: Cell[] = [
    null,
    0n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    9007199254740993n,
    -0,
    0.1,
    1e308,
    Number.POSITIVE_INFINITY,
    "",
    "a\u0000b",
    "😀é",
    new Uint8Array(0),
    new Uint8Array([0, 255]),
  ]
  const echo = "SELECT ?1, typeof(?1)"
  const types = (value: Cell) =>
    value === null
      ? "null"
      : { bigint: "integer", number: "real", string: "text", object: "blob" }[typeof value as "bigint"]
  for (const value of values) {
    const expected = [[value, types(value)]]
    expect((await peer.query(echo, value)).rows).toEqual(expected)
    expect((await peer.batch([echo, value])).rows).toEqual(expected)
    await peer.begin()
    expect((await peer.query(echo, value)).rows).toEqual(expected)
    await peer.rollback()
  }
  expect((await peer.query(echo, Number.NaN)).rows).toEqual([[null, "null"]])
  const unset = await peer.request({ case: "query", value: { sql: "SELECT ?", params: [{}] } }).answer
  expect(unset.error?.code).toBe("invalid_argument")
})

test("C16 an error after rows is an Error and never a Done", async () => {
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1 })
  const peer = await at.connect()
  const overflow = await peer.query("SELECT abs(column1) FROM (VALUES(1),(2),(-9223372036854775808),(4))")
  expect(overflow.rows).toEqual([[1n], [2n]])
  expect(overflow.error).toMatchObject({ code: "SQLITE_ERROR", message: "integer overflow" })
  expect(overflow.kinds.at(-1)).toBe("error")
  const json = await peer.query(`SELECT json_extract(column1,'$.a') FROM (VALUES('{"a":1}'),('{bad'),('{"a":3}'))`)
  expect(json.rows).toEqual([[1n]])
  expect(json.error?.message).toBe("malformed JSON")
  expect((await peer.query("SELECT 1")).rows).toEqual([[1n]])
})

test("a result is the snapshot at its start, whatever is written meanwhile on this socket or another", async () => {
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1 })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(x)")
  await a.batch(...Array.from({ length: 20 }, (_, i): [string, Given] => ["INSERT INTO t VALUES(?)", BigInt(i)]))
  const stream = a.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
  await settle(a)
  expect(a.kinds(stream.id)).toEqual(["columns", "columnBatch", "columnBatch", "columnBatch", "columnBatch"])
  expect((await a.exec("UPDATE t SET x = x + 100")).execs[0]?.tip).toBe(3n)
  await b.exec("DELETE FROM t WHERE x > 105")
  await b.exec("DROP TABLE t")
  a.credit(stream.id, 100)
  const { rows, done } = await stream.answer
  expect(rows).toEqual(Array.from({ length: 20 }, (_, i) => [BigInt(i)]))
  expect(done).toMatchObject({ tip: 2n, totalRows: 20n })
})

test("a query that writes commits first and then streams what it returned", async () => {
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1 })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
  const sql = "INSERT INTO t(x) VALUES(1),(2),(3),(4),(5),(6),(7) RETURNING id, x"
  const stream = a.request({ case: "query", value: { sql } }, { credits: [] })
  await settle(a)
  expect(a.kinds(stream.id)).toEqual(["columns", "columnBatch", "columnBatch", "columnBatch", "columnBatch"])
  expect((await b.query("SELECT count(*) FROM t")).rows).toEqual([[7n]])
  expect((await b.exec("DELETE FROM t")).execs[0]?.rowsAffected).toBe(7n)
  a.credit(stream.id, 3)
  const { rows, done } = await stream.answer
  expect(rows.length).toBe(7)
  expect(done).toMatchObject({ tip: 2n, totalRows: 7n })
})

test("a query that writes more than may be kept is rolled back whole", async () => {
  await using at = await TestService.start({ captureBytes: 10_000 })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  const sql = "INSERT INTO t SELECT randomblob(100) FROM generate_series(1,1000) RETURNING x"
  const series = sql.replace(
    "generate_series(1,1000)",
    "(WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 1000) SELECT i FROM c)",
  )
  expect((await peer.query(series)).error?.code).toBe("resource_exhausted")
  const after = await peer.query("SELECT count(*) FROM t")
  expect(after.rows).toEqual([[0n]])
  expect(after.done?.tip).toBe(1n)
})

test("C57 one statement a frame; SQLite's parser decides where it ends", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  for (const sql of [
    "",
    ";",
    ";;",
    "-- c",
    "/* c */",
    "\ufeff",
    "SELECT 1; SELECT 2",
    "SELECT 1\u0000",
    "SELECT 1;\u0000",
  ]) {
    expect((await peer.query(sql)).error?.code, JSON.stringify(sql)).toBe("invalid_argument")
    expect((await peer.exec(sql)).error?.code, JSON.stringify(sql)).toBe("invalid_argument")
  }
  await peer.exec("INSERT INTO t VALUES(1); INSERT INTO t VALUES(2)")
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
  const fine: [string, Cell][] = [
    ["SELECT 1 -- c", 1n],
    ["SELECT 1; -- c;", 1n],
    ["SELECT 1;;;", 1n],
    ["SELECT ';--/*'", ";--/*"],
    ["\ufeffSELECT 6", 6n],
    ["SELECT 1 /* open", 1n],
    ["SELECT 1;\ufeff", 1n],
  ]
  for (const [sql, value] of fine) expect((await peer.query(sql)).rows, sql).toEqual([[value]])
})

test("C56 parameters are counted exactly", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const cases: [string, Given[]][] = [
    ["SELECT ?, ?", [1n]],
    ["SELECT ?", [1n, 2n]],
    ["SELECT ?1, ?3", [1n, 2n]],
    ["SELECT 1", [1n]],
    ["SELECT :a, :b", [1n]],
  ]
  for (const [sql, params] of cases) {
    const { error } = await peer.query(sql, ...params)
    expect(error, sql).toMatchObject({ code: "invalid_argument", message: expect.stringMatching(/\d.*\d/) })
  }
  expect((await peer.query("SELECT ?1, ?3", 1n, 2n, 3n)).rows).toEqual([[1n, 3n]])
  expect((await peer.query("SELECT :a, :b, :a", 1n, 2n)).rows).toEqual([[1n, 2n, 1n]])
})

test("a row that cannot fit a frame is resource_exhausted, and the rows before it went out", async () => {
  await using at = await TestService.start({ maxFrameBytes: 200_000 })
  const peer = await at.connect()
  const { rows, error } = await peer.query(
    "SELECT length(x), x FROM (SELECT zeroblob(10) x UNION ALL SELECT zeroblob(300000))",
  )
  expect(rows.map(([length]) => length)).toEqual([10n])
  expect(error?.code).toBe("resource_exhausted")
  // Two that fit alone but not together travel apart.
  const two = await peer.query("SELECT zeroblob(150000) UNION ALL SELECT zeroblob(150001)")
  expect(two.kinds).toEqual(["columns", "columnBatch", "columnBatch", "done"])
})

test("C47 statement errors carry SQLite's extended name and message, the same on all four paths", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE p(id INTEGER PRIMARY KEY)")
  await peer.exec(
    "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, n NOT NULL DEFAULT 1, c CHECK(c > 0), f REFERENCES p)",
  )
  await peer.exec("INSERT INTO t(id, u) VALUES(1, 'a')")
  const cases: [string, string, string][] = [
    ["INSERT INTO t(id) VALUES(1)", "SQLITE_CONSTRAINT_PRIMARYKEY", "UNIQUE constraint failed: t.id"],
    ["INSERT INTO t(u) VALUES('a')", "SQLITE_CONSTRAINT_UNIQUE", "UNIQUE constraint failed: t.u"],
    ["INSERT INTO t(n) VALUES(NULL)", "SQLITE_CONSTRAINT_NOTNULL", "NOT NULL constraint failed: t.n"],
    ["INSERT INTO t(c) VALUES(0)", "SQLITE_CONSTRAINT_CHECK", "CHECK constraint failed: c > 0"],
    ["INSERT INTO t(f) VALUES(9)", "SQLITE_CONSTRAINT_FOREIGNKEY", "FOREIGN KEY constraint failed"],
    ["INSERT INTO t(id) VALUES('x')", "SQLITE_MISMATCH", "datatype mismatch"],
    ["selec 1", "SQLITE_ERROR", 'near "selec": syntax error'],
    ["SELECT * FROM nope", "SQLITE_ERROR", "no such table: nope"],
    ["SELECT nope FROM t", "SQLITE_ERROR", "no such column: nope"],
  ]
  for (const [sql, code, message] of cases) {
    expect((await peer.exec(sql)).error, sql).toMatchObject({ code, message })
    expect((await peer.query(sql)).error, sql).toMatchObject({ code, message })
    expect((await peer.batch(sql)).error, sql).toMatchObject({ code, message: `statement 0: ${message}` })
    await peer.begin()
    expect((await peer.exec(sql)).error, sql).toMatchObject({ code, message })
    expect((await peer.rollback()).error, sql).toBeUndefined()
  }
})

test("C59 names follow the schema, whoever changes it", async () => {
  await using at = await TestService.start()
  const [a, b] = [await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(a)")
  await a.exec("INSERT INTO t VALUES(1)")
  const sql = "SELECT * FROM t"
  expect((await a.query(sql)).columns).toEqual([["a"]])
  await b.exec("ALTER TABLE t ADD COLUMN b DEFAULT 'B'")
  expect(await a.query(sql)).toMatchObject({ columns: [["a", "b"]], rows: [[1n, "B"]] })
  await b.exec("ALTER TABLE t DROP COLUMN a")
  expect(await a.query(sql)).toMatchObject({ columns: [["b"]], rows: [["B"]] })
})

test("C15 writing to the table that a stream reads neither blocks nor feeds it", async () => {
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1, initialCredit: 1 })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE m(id INTEGER PRIMARY KEY)")
  await peer.exec("INSERT INTO m VALUES(1),(2),(3)")
  const stream = peer.request({ case: "query", value: { sql: "SELECT id FROM m" } }, { credits: [] })
  for (let i = 0; i < 3; i++) {
    await peer.exec("INSERT INTO m DEFAULT VALUES")
    peer.credit(stream.id, 1)
  }
  expect((await stream.answer).rows).toEqual([[1n], [2n], [3n]])
  expect((await peer.query("SELECT count(*) FROM m")).rows).toEqual([[6n]])
})
