import { create } from "@bufbuild/protobuf"
import { expect, test } from "@playwright/test"
import { AgentDB_Wire_ValueSchema as ValueSchema } from "../../../src/gen/livekit_agentdb_pb.ts"
import { ColumnBatchWriter } from "../../../src/wire/column-batch-writer.ts"
import { toWireValue } from "../../../src/wire/values.ts"
import { codeOf, decodeRows, execute, failureOf, one, query, startDatabase, unlimited } from "../../fixtures/engine.ts"
import { OracleServerMessage } from "../../fixtures/oracle.ts"

const single: [sql: string, value: unknown][] = [
  ["SELECT 1 -- c", 1],
  ["SELECT 1; -- c;", 1],
  ["SELECT 1;;;", 1],
  ["SELECT 1 ; /* c */ ; -- d", 1],
  ["SELECT ';--/*'", ";--/*"],
  ["\uFEFFSELECT 6", 6],
  ["SELECT 7;\uFEFF", 7],
  [";; SELECT 8", 8],
  ["-- c\n/* d */ SELECT 9", 9],
  ["SELECT 1 /* open", 1],
  ["SELECT 'é\u{1F600}' -- \u{1F600}", "é\u{1F600}"],
]

test("comments, blanks and semicolons around a statement do not count", async () => {
  const { database } = await startDatabase()
  for (const [sql, value] of single) expect([sql, one(database.writer, sql)]).toEqual([sql, value])
})

test("no statement, several of them, and U+0000 are refused whole", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(x)")
  for (const sql of [
    "",
    ";",
    ";;",
    "-- c",
    "/* c */",
    "  \n",
    "\uFEFF",
    "SELECT 1; SELECT 2",
    "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)",
    "INSERT INTO t VALUES (1); nonsense",
    "INSERT INTO t VALUES (1); CREATE TABLE u(x); INSERT INTO u VALUES (1)",
    "SELECT 1; BEGIN",
    "SELECT 1\0",
    "SELECT 1; \0",
  ]) {
    expect([sql, codeOf(() => database.writer.prepare(sql, "autocommit"))]).toEqual([sql, "invalid_argument"])
  }
  expect(one(database.writer, "SELECT count(*) FROM t")).toBe(0)
  expect(failureOf(() => database.writer.prepare("selec 1", "autocommit"))).toEqual({
    code: "SQLITE_ERROR",
    message: 'near "selec": syntax error',
  })
})

test("the count of parameters must match exactly", async () => {
  const { database } = await startDatabase()
  for (const [sql, given, wanted] of [
    ["SELECT ?, ?", 1, 2],
    ["SELECT ?", 2, 1],
    ["SELECT ?1, ?3", 2, 3],
    ["SELECT :a, :b, :a", 3, 2],
    ["SELECT 1", 1, 0],
  ] as const) {
    const failure = failureOf(() => execute(database.writer, sql, Array(given).fill(1)))
    expect({ sql, code: failure?.code }).toEqual({ sql, code: "invalid_argument" })
    expect(failure?.message).toContain(String(given))
    expect(failure?.message).toContain(String(wanted))
  }
  expect(query(database.writer, "SELECT ?1, ?3", [1, 2, 3])).toEqual([[1, 3]])
  expect(query(database.writer, "SELECT ?5", [1, 2, 3, 4, 5])).toEqual([[5]])
  expect(query(database.writer, "SELECT :b, @a, :b", [1, 2])).toEqual([[1, 2, 1]])
})

test("a parameter without a value is refused", async () => {
  const { database } = await startDatabase()
  const statement = database.writer.prepare("SELECT ?", "autocommit")
  expect(codeOf(() => statement.bind([create(ValueSchema, {})]))).toBe("invalid_argument")
  statement.finalize()
})

test("values keep their class, their sign and their bytes", async () => {
  const { database } = await startDatabase()
  const echo = (value: unknown): unknown[] => query(database.writer, "SELECT ?1, typeof(?1)", [value])[0] ?? []
  expect(echo(-0)).toEqual([-0, "real"])
  expect(echo(1.5)).toEqual([1.5, "real"])
  expect(echo(2)).toEqual([2, "integer"])
  expect(echo(2n ** 63n - 1n)).toEqual([2n ** 63n - 1n, "integer"])
  expect(echo(-(2n ** 63n))).toEqual([-(2n ** 63n), "integer"])
  expect(echo(2 ** 53 - 1)).toEqual([2 ** 53 - 1, "integer"])
  expect(echo(2n ** 53n)).toEqual([2n ** 53n, "integer"])
  expect(echo(-(2n ** 53n) - 1n)).toEqual([-(2n ** 53n) - 1n, "integer"])
  expect(echo(Number.POSITIVE_INFINITY)).toEqual([Number.POSITIVE_INFINITY, "real"])
  expect(echo(Number.NaN)).toEqual([null, "null"])
  expect(echo("a\0b")).toEqual(["a\0b", "text"])
  expect(echo("")).toEqual(["", "text"])
  expect(echo(new Uint8Array(0))).toEqual([new Uint8Array(0), "blob"])
  expect(echo(Uint8Array.of(0, 255))).toEqual([Uint8Array.of(0, 255), "blob"])
  expect(query(database.writer, "SELECT hex(?1), length(?1), octet_length(?1)", ["a\0b"])).toEqual([["610062", 1, 3]])
  const rawNaN = database.writer.prepare("SELECT typeof(?)", "autocommit")
  rawNaN.bind([create(ValueSchema, { value: { case: "doubleValue", value: Number.NaN } })])
  rawNaN.step(unlimited())
  expect(rawNaN.text(0)).toBe("null")
  rawNaN.finalize()
})

test("an empty blob is not NULL", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE b(v BLOB NOT NULL)")
  execute(database.writer, "INSERT INTO b VALUES(?1)", [new Uint8Array(0)])
  expect(query(database.writer, "SELECT typeof(v), length(v), v IS NULL, v FROM b")).toEqual([
    ["blob", 0, 0, new Uint8Array(0)],
  ])
  expect(codeOf(() => execute(database.writer, "INSERT INTO b VALUES(?1)", [null]))).toBe("SQLITE_CONSTRAINT_NOTNULL")
  expect(query(database.writer, "VALUES (NULL), (x''), ('')")).toEqual([[null], [new Uint8Array(0)], [""]])
})

test("a column of many classes decodes in step, also by another codec", async () => {
  const { database } = await startDatabase()
  const sql = "VALUES (1), (1e308), ('a\u{1F600}b'), (x'00FF'), (NULL), (9007199254740993), (''), (x''), (-1.5)"
  const statement = database.writer.prepare(sql, "autocommit")
  const batch = new ColumnBatchWriter(1)
  expect(statement.fill(batch, { targetBytes: 1 << 20, maxFrameBytes: 1 << 24 }, unlimited())).toBe("done")
  statement.finalize()
  const { message } = OracleServerMessage.fromBinary(batch.takeFrame(5))
  const column = message.case === "columnBatch" ? message.value.columns[0] : undefined
  expect([...(column?.types ?? [])]).toEqual([1, 2, 3, 4, 0, 1, 3, 4, 2])
  expect(column?.ints).toEqual([1n, 9007199254740993n])
  expect(column?.doubles).toEqual([1e308, -1.5])
  expect(Buffer.from(column?.textData ?? []).toString("hex")).toBe("61f09f988062")
  expect(column?.textEnds).toEqual([6, 6])
  expect(Buffer.from(column?.blobData ?? []).toString("hex")).toBe("00ff")
  expect(column?.blobEnds).toEqual([2, 2])
})

test("invalid UTF-8 leaves as its raw bytes", async () => {
  const { database } = await startDatabase()
  const statement = database.writer.prepare("SELECT CAST(x'61ff62' AS TEXT)", "autocommit")
  const batch = new ColumnBatchWriter(1)
  statement.fill(batch, { targetBytes: 1 << 20, maxFrameBytes: 1 << 24 }, unlimited())
  statement.finalize()
  const { message } = OracleServerMessage.fromBinary(batch.takeFrame(0))
  const column = message.case === "columnBatch" ? message.value.columns[0] : undefined
  expect(Buffer.from(column?.textData ?? []).toString("hex")).toBe("61ff62")
})

test("small batches join to the same rows as one large one", async () => {
  const { database } = await startDatabase()
  const sql = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 500)
    SELECT i, i / 2.0, printf('%.*c', i % 40, 'x'), zeroblob(i % 3) FROM c`
  const whole = query(database.writer, sql)
  expect(whole).toHaveLength(500)
  for (const targetBytes of [1, 600, 2000]) {
    const statement = database.writer.prepare(sql, "autocommit")
    const batch = new ColumnBatchWriter(4)
    const rows: unknown[][] = []
    let frames = 0
    for (let more = true; more; frames++) {
      more = statement.fill(batch, { targetBytes, maxFrameBytes: 1 << 24 }, unlimited()) === "full"
      rows.push(...decodeRows(batch))
    }
    statement.finalize()
    expect(rows).toEqual(whole)
    expect(frames).toBeGreaterThan(4)
  }
})

test("a row that does not fit beside others waits for the next frame; one that fits none is an error", async () => {
  const { database } = await startDatabase()
  const size = { targetBytes: 5000, maxFrameBytes: 5000 }
  const statement = database.writer.prepare(
    "VALUES ('a', zeroblob(2000)), ('b', zeroblob(4000)), ('c', 1)",
    "autocommit",
  )
  const batch = new ColumnBatchWriter(2)
  expect(statement.fill(batch, size, unlimited())).toBe("full")
  expect(decodeRows(batch).map((row) => row[0])).toEqual(["a"])
  expect(statement.fill(batch, size, unlimited())).toBe("done")
  expect(decodeRows(batch).map((row) => row[0])).toEqual(["b", "c"])
  statement.finalize()

  const large = database.writer.prepare("VALUES (1), (zeroblob(6000))", "autocommit")
  const one = new ColumnBatchWriter(1)
  expect(large.fill(one, size, unlimited())).toBe("full")
  expect(one.rows).toBe(1)
  one.takeFrame(0)
  expect(codeOf(() => large.fill(one, size, unlimited()))).toBe("resource_exhausted")
  expect(one.rows).toBe(0)
  large.finalize()
})

test("a statement stays at its end", async () => {
  const { database } = await startDatabase()
  const statement = database.writer.prepare("VALUES (1, 'a'), (2, 'b')", "autocommit")
  const batch = new ColumnBatchWriter(2)
  const run = unlimited()
  const size = { targetBytes: 1 << 20, maxFrameBytes: 1 << 24 }
  expect(statement.fill(batch, size, run)).toBe("done")
  expect(statement.step(run)).toBe(false)
  expect(statement.fill(batch, size, run)).toBe("done")
  statement.finalize()
  expect(decodeRows(batch)).toEqual([
    [1, "a"],
    [2, "b"],
  ])
})

test("columns are named after the first step, so that another connection's ALTER is seen", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(a)")
  execute(database.writer, "INSERT INTO t VALUES (1)")
  const reader = database.takeReader()
  const statement = reader.prepare("SELECT * FROM t", "autocommit")
  execute(database.writer, "ALTER TABLE t ADD COLUMN b DEFAULT 'B'")
  expect(statement.step(unlimited())).toBe(true)
  expect(statement.columnNames()).toEqual(["a", "b"])
  expect(statement.columnCount).toBe(2)
  statement.finalize()
  execute(database.writer, "ALTER TABLE t DROP COLUMN a")
  expect(execute(reader, "SELECT * FROM t")).toMatchObject({ columns: ["b"], rows: [["B"]] })
  database.giveReader(reader)
})

test("a statement without rows still has its columns, and one without columns has none", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT)")
  expect(execute(database.writer, "SELECT id, title, 1+1, count(*) OVER () AS c FROM t WHERE 0")).toMatchObject({
    columns: ["id", "title", "1+1", "c"],
    rows: [],
  })
  expect(execute(database.writer, "DELETE FROM t WHERE 0").columns).toEqual([])
})

test("an error after rows leaves those rows and the connection usable", async () => {
  const { database } = await startDatabase()
  const statement = database.writer.prepare(
    "SELECT abs(column1) FROM (VALUES(1),(2),(-9223372036854775808),(4))",
    "autocommit",
  )
  const batch = new ColumnBatchWriter(1)
  const failure = failureOf(() => statement.fill(batch, { targetBytes: 1 << 20, maxFrameBytes: 1 << 24 }, unlimited()))
  expect(failure).toEqual({ code: "SQLITE_ERROR", message: "integer overflow" })
  expect(batch.rows).toBe(2)
  statement.finalize()
  expect(one(database.writer, "SELECT 1")).toBe(1)
})

test("every class of failure carries SQLite's extended name and message", async () => {
  const { database } = await startDatabase()
  const { writer } = database
  execute(writer, "CREATE TABLE p(id INTEGER PRIMARY KEY, u UNIQUE, n NOT NULL DEFAULT 1, c CHECK (c > 0))")
  execute(writer, "CREATE TABLE f(p REFERENCES p(id))")
  execute(writer, "INSERT INTO p(id, u) VALUES (1, 1)")
  for (const [sql, code, message] of [
    ["INSERT INTO p(id) VALUES (1)", "SQLITE_CONSTRAINT_PRIMARYKEY", "UNIQUE constraint failed: p.id"],
    ["INSERT INTO p(u) VALUES (1)", "SQLITE_CONSTRAINT_UNIQUE", "UNIQUE constraint failed: p.u"],
    ["INSERT INTO p(n) VALUES (NULL)", "SQLITE_CONSTRAINT_NOTNULL", "NOT NULL constraint failed: p.n"],
    ["INSERT INTO p(c) VALUES (-1)", "SQLITE_CONSTRAINT_CHECK", "CHECK constraint failed: c > 0"],
    ["INSERT INTO f VALUES (7)", "SQLITE_CONSTRAINT_FOREIGNKEY", "FOREIGN KEY constraint failed"],
    ["INSERT INTO p(id) VALUES ('x')", "SQLITE_MISMATCH", "datatype mismatch"],
    ["selec", "SQLITE_ERROR", 'near "selec": syntax error'],
    ["SELECT * FROM nope", "SQLITE_ERROR", "no such table: nope"],
    ["SELECT nope FROM p", "SQLITE_ERROR", "no such column: nope"],
    ["SELECT zeroblob(1000000001)", "SQLITE_TOOBIG", "string or blob too big"],
  ] as const) {
    expect({ sql, ...failureOf(() => execute(writer, sql)) }).toEqual({ sql, code, message })
  }
})

test("changes and last id after a statement are the statement's own", async () => {
  const { database } = await startDatabase()
  const { writer } = database
  execute(writer, "CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE)")
  execute(writer, "INSERT INTO t(x) VALUES (1), (2), (3)")
  expect([writer.changes, writer.lastInsertRowid]).toEqual([3n, 3n])
  writer.resetCounters()
  execute(writer, "INSERT OR IGNORE INTO t(x) VALUES (1)")
  expect([writer.changes, writer.lastInsertRowid]).toEqual([0n, 0n])
  execute(writer, "INSERT INTO t(id, x) VALUES (9223372036854775807, 7)")
  expect(writer.lastInsertRowid).toBe(2n ** 63n - 1n)
})

test("failed and finalized statements leave nothing behind", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(x)")
  for (let i = 0; i < 2000; i++) {
    codeOf(() => execute(database.writer, `SELECT nope${i}`))
    codeOf(() => execute(database.writer, `SELECT abs(-9223372036854775808), ${i}`))
    codeOf(() => execute(database.writer, `SELECT ?1, ${i}`, []))
    execute(database.writer, `SELECT ${i}`)
  }
  expect(one(database.writer, "SELECT count(*) FROM sqlite_stmt")).toBe(1)
})

test("text with a million characters goes in and out without leaking", async () => {
  const { engine, database } = await startDatabase()
  const text = "é".repeat(500_000)
  const echo = (): unknown => one(database.writer, "SELECT ?1", [text])
  for (let i = 0; i < 20; i++) echo()
  const before = engine.heap.bytes.length
  for (let i = 0; i < 200; i++) expect(echo()).toBe(text)
  expect(engine.heap.bytes.length - before).toBeLessThan(16 * 2 ** 20)
})

test("what toWireValue makes of a view binds its own bytes", async () => {
  const { database } = await startDatabase()
  const bytes = Uint8Array.of(97, 98, 99, 100)
  const param = toWireValue(bytes.subarray(1, 3), 1)
  bytes.fill(0)
  const statement = database.writer.prepare("SELECT hex(?)", "autocommit")
  statement.bind([param])
  statement.step(unlimited())
  expect(statement.text(0)).toBe("6263")
  statement.finalize()
})
