import { expect, test } from "@playwright/test"
import { AgentDBServiceClient } from "../../../src/client/index.ts"
import { contentHash, replay } from "../../../src/sync/index.ts"
import { databaseId, startDatabase } from "../../fixtures/engine.ts"
import { type NodeServer, startServer } from "../../fixtures/node-server.ts"
import { connectSocket, quietSource, sourceOf, targetOf } from "../../fixtures/replay.ts"
import { TestService } from "../../fixtures/service.ts"
import { sinkOptions } from "../../fixtures/snapshot-source.ts"

let service: TestService
let server: NodeServer
test.beforeAll(async () => {
  service = await TestService.start()
  server = await startServer()
})
test.afterAll(async () => {
  await server.close()
  await service[Symbol.asyncDispose]()
})

const databases = async () => (await targetOf(server).service.listDatabases()).databases.map((one) => one.databaseId)

async function roundTrip(statements: readonly string[]): Promise<void> {
  const source = await quietSource(service, statements)
  const { tip } = await service.management.get(source.databaseId)
  const result = await replay(targetOf(server)).write(source, sinkOptions())
  await using there = await connectSocket(server.wsUrl, result.databaseId as string)
  expect((await contentHash(there)).sha256).toBe(result.sha256)
  expect(await there.query("PRAGMA integrity_check", [], { rowMode: "array" }).all()).toEqual([["ok"]])
  const copy = await source.open()
  expect(await contentHash(copy.connection)).toMatchObject({ sha256: result.sha256, tip })
  expect(result.tip).toBe(tip)
  await copy.release()
}

const rows = (n: number, table: string, values: string) =>
  `WITH n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ${n}) INSERT INTO ${table} SELECT ${values} FROM n`

const cases: Record<string, string[]> = {
  "nothing at all": [],
  "every class of value, to the byte": [
    "CREATE TABLE t(a)",
    "INSERT INTO t VALUES (NULL), (0), (-1), (9223372036854775807), (-9223372036854775808), (9007199254740993)",
    "INSERT INTO t VALUES (0.0), (-0.0), (1e999), (-1e999), (1.0), (0.1), ('') , (x''), (x'00ff'), ('ü€😀')",
    "INSERT INTO t VALUES (CAST(x'00' AS TEXT)), (CAST(x'610062' AS TEXT)), (CAST(x'ff61fe' AS TEXT)), (char(65279) || 'bom')",
    "CREATE TABLE affine(i INTEGER, r REAL, t TEXT, n NUMERIC, b BLOB)",
    "INSERT INTO affine VALUES ('x', 'y', x'00', '1e3', 5), (1.5, 7, 8, 9.0, '1'), (x'31', x'32', 'z', x'33', NULL)",
  ],
  "rowids, also where their names are taken": [
    "CREATE TABLE t(a)",
    "INSERT INTO t(rowid, a) VALUES (-5, 1), (0, 2), (9223372036854775807, 3), (17, 4)",
    "CREATE TABLE one(rowid, a)",
    "INSERT INTO one(_rowid_, rowid, a) VALUES (40, 'r', 1), (30, 's', 2)",
    "CREATE TABLE two(rowid, _ROWID_ TEXT)",
    "INSERT INTO two(oid, rowid) VALUES (40, 'r')",
    "CREATE TABLE all_three(rowid, _rowid_, oid)",
    "INSERT INTO all_three VALUES (3, 2, 1), (1, 2, 3)",
    "CREATE TABLE alias(x, oid INTEGER PRIMARY KEY)",
    "INSERT INTO alias VALUES ('a', 12), ('b', -1)",
    "CREATE TABLE no_alias(id INTEGER PRIMARY KEY DESC, x)",
    "INSERT INTO no_alias(rowid, id, x) VALUES (7, 1, 'x'), (6, 2, 'y')",
  ],
  "counters of AUTOINCREMENT": [
    "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a)",
    "INSERT INTO t VALUES (1, 'a'), (90, 'b')",
    "DELETE FROM t WHERE id = 90",
    "CREATE TABLE emptied(id INTEGER PRIMARY KEY AUTOINCREMENT)",
    "INSERT INTO emptied VALUES (5)",
    "DELETE FROM emptied",
    "CREATE TABLE reset(id INTEGER PRIMARY KEY AUTOINCREMENT)",
    "INSERT INTO reset VALUES (5)",
    "DELETE FROM sqlite_sequence WHERE name = 'reset'",
  ],
  "WITHOUT ROWID, STRICT, generated columns": [
    "CREATE TABLE w(a TEXT COLLATE NOCASE, b INT, c, PRIMARY KEY (b DESC, a)) WITHOUT ROWID",
    "INSERT INTO w VALUES ('x', 1, 'one'), ('Y', 1, 'two'), ('a', 2, x'00')",
    "CREATE TABLE s(i INTEGER, t TEXT NOT NULL, b BLOB, r REAL, a ANY, PRIMARY KEY (i)) STRICT",
    "INSERT INTO s VALUES (1, 't', x'01', 2, 'any'), (2, 'u', NULL, -0.0, 7)",
    "CREATE TABLE g(a, b AS (a * 2), c AS (a || '!') STORED, d)",
    "INSERT INTO g(a, d) VALUES (1, 'x'), ('q', NULL)",
    "CREATE INDEX gi ON g(b, lower(c)) WHERE a IS NOT NULL",
  ],
  "triggers do not fire, views stand": [
    "CREATE TABLE t(a)",
    "CREATE TABLE log(what)",
    "CREATE TRIGGER added AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END",
    "CREATE TRIGGER refused BEFORE INSERT ON log WHEN new.what = 'no' BEGIN SELECT RAISE(ABORT, 'no'); END",
    "INSERT INTO t VALUES (1), (2)",
    "DELETE FROM log WHERE what = 1",
    "CREATE VIEW v(x) AS SELECT a FROM t",
    "CREATE VIEW broken AS SELECT * FROM not_there",
    "CREATE TRIGGER instead INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.x); END",
  ],
  "foreign keys, in any order and round in circles": [
    "CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES parent(code))",
    "CREATE TABLE parent(code TEXT)",
    "CREATE UNIQUE INDEX codes ON parent(code)",
    "INSERT INTO parent VALUES ('a'), ('b')",
    "INSERT INTO child VALUES (1, 'b'), (2, NULL)",
    "CREATE TABLE tree(id INTEGER PRIMARY KEY, up INTEGER NOT NULL REFERENCES tree, note)",
    "INSERT INTO tree VALUES (1, 1, 'a')",
    "INSERT INTO tree VALUES (2, 1, 'b')",
    "UPDATE tree SET up = 2 WHERE id = 1",
    "CREATE TABLE x(id PRIMARY KEY, y REFERENCES y(id) DEFERRABLE INITIALLY DEFERRED)",
    "CREATE TABLE y(id PRIMARY KEY, x REFERENCES x(id)) WITHOUT ROWID",
    "INSERT INTO x VALUES (1, NULL)",
    "INSERT INTO y VALUES (2, 1)",
    "UPDATE x SET y = 2",
    "CREATE TABLE to_nowhere(a, b REFERENCES nowhere, c REFERENCES elsewhere(k) ON DELETE CASCADE)",
  ],
  "full text and R*Trees": [
    "CREATE VIRTUAL TABLE ft USING fts5(title, body, note UNINDEXED, tokenize = 'porter unicode61', prefix='2 3')",
    "INSERT INTO ft(rowid, title, body, note) VALUES (5, 'running dogs', 'and cats', 7), (-1, 'x', NULL, x'00')",
    "INSERT INTO ft(ft, rank) VALUES ('pgsz', 900)",
    "INSERT INTO ft(ft, rank) VALUES ('rank', 'bm25(10.0, 5.0)')",
    "CREATE TABLE doc(id INTEGER PRIMARY KEY, text)",
    "INSERT INTO doc VALUES (3, 'outer content'), (9, 'again')",
    "CREATE VIRTUAL TABLE outside USING fts5(text, content='doc', content_rowid='id')",
    "INSERT INTO outside(outside) VALUES ('rebuild')",
    "CREATE TRIGGER doc_added AFTER INSERT ON doc BEGIN INSERT INTO outside(rowid, text) VALUES (new.id, new.text); END",
    "CREATE VIRTUAL TABLE words USING fts5vocab('ft', 'row')",
    "CREATE VIRTUAL TABLE r USING rtree(id, x0, x1, y0, y1, +note, +data)",
    "INSERT INTO r VALUES (1, 0.1, 0.2, 3, 4, 'n', x'ff'), (-7, 1, 2, 3.3, 4.4, NULL, 9)",
    "CREATE VIRTUAL TABLE whole USING rtree_i32(id, a, b)",
    "INSERT INTO whole VALUES (4, -2147483648, 2147483647)",
  ],
  "numbers and statistics": [
    "PRAGMA user_version = -7",
    "PRAGMA application_id = 252006674",
    "CREATE TABLE t(a, b)",
    "CREATE INDEX ta ON t(a)",
    rows(500, "t", "v % 10, v"),
    "ANALYZE",
    "UPDATE sqlite_stat1 SET stat = '500 77'",
  ],
  "odd names": [
    'CREATE TABLE "a ""b"" [c] \'d\' `e`"("select" TEXT, "x y", "ü😀", "")',
    `INSERT INTO "a ""b"" [c] 'd' \`e\`" VALUES (1, 2, 3, 4)`,
    'CREATE INDEX "i ""i" ON "a ""b"" [c] \'d\' `e`"("ü😀")',
    "CREATE TABLE replay_steps(a)",
    "INSERT INTO replay_steps VALUES (1)",
    "CREATE TABLE replay_pieces(a)",
    "CREATE TABLE _replay_pieces(a)",
    "CREATE TABLE replay_rows_0(a PRIMARY KEY REFERENCES replay_rows_0)",
    "INSERT INTO replay_rows_0 VALUES (1)",
    `CREATE VIRTUAL TABLE "full ""text" USING fts5("a b", c)`,
    `INSERT INTO "full ""text" VALUES ('one', 'two')`,
  ],
  "many rows": ["CREATE TABLE t(a, b)", rows(60_000, "t", "v, 'row ' || v")],
  "a wide table": [
    `CREATE TABLE t(${Array.from({ length: 1_900 }, (_, i) => `c${i}`).join(", ")})`,
    "INSERT INTO t(c0, c1899) VALUES (1, 2), (3, 4)",
  ],
}

for (const [name, statements] of Object.entries(cases)) {
  test(`keeps ${name}`, async () => {
    await roundTrip(statements)
  })
}

test("values larger than a frame arrive whole, whatever checks them", async () => {
  test.setTimeout(240_000)
  await roundTrip([
    "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE CHECK (octet_length(a) > 16000000), b BLOB CHECK (length(b) = 17000001)) STRICT",
    "INSERT INTO t VALUES (1, replace(hex(zeroblob(8500000)), '0', 'ab'), CAST(zeroblob(17000000) || x'ff' AS BLOB))",
    "INSERT INTO t VALUES (2, 'ü' || CAST(CAST(zeroblob(17000000) || x'00ff80' AS BLOB) AS TEXT), NULL)",
    "CREATE TABLE loop(id INTEGER PRIMARY KEY, up REFERENCES loop, data)",
    "INSERT INTO loop VALUES (1, NULL, zeroblob(5000000))",
    "CREATE VIRTUAL TABLE ft USING fts5(a)",
    "INSERT INTO ft VALUES ('one ' || hex(zeroblob(1100000)) || ' two')",
    "CREATE TABLE w(k TEXT PRIMARY KEY, data) WITHOUT ROWID",
    "INSERT INTO w VALUES ('k', zeroblob(3000000))",
    "CREATE TABLE s(rowid, _rowid_, oid)",
    "INSERT INTO s VALUES (1, 1, 1), (2, zeroblob(3000001), 2), (3, 3, zeroblob(3000002))",
  ])
})

test("what can't be made anew is refused by name, before anything is made", async () => {
  const refused: [string[], RegExp][] = [
    [["CREATE VIRTUAL TABLE no_text USING fts5(a, content='')"], /"no_text".*contentless/],
    [["CREATE VIRTUAL TABLE localized USING fts5(a, locale=1)"], /"localized".*locale/],
    [
      ["CREATE TABLE p(id)", "CREATE TABLE c(x REFERENCES p(id))"],
      /foreign keys can't be checked: .*"c" referencing "p"/,
    ],
    [
      [
        `CREATE TABLE tree(${Array.from({ length: 2000 }, (_, i) => (i === 0 ? "c0 UNIQUE" : `c${i}`))}, FOREIGN KEY (c1) REFERENCES tree(c0))`,
      ],
      /"tree".*circle.*2000 columns/,
    ],
  ]
  const before = await databases()
  for (const [statements, message] of refused) {
    const source = await quietSource(service, statements)
    const pushed = replay(targetOf(server)).write(source, sinkOptions())
    await expect(pushed).rejects.toMatchObject({ code: "failed_precondition", message: expect.stringMatching(message) })
  }
  expect(await databases()).toEqual(before)
})

test("a token that the target refuses is told as it is", async () => {
  const source = await quietSource(service, ["CREATE TABLE t(a)"])
  const stranger = new AgentDBServiceClient({ url: server.url, token: "no token" })
  const pushed = replay({ ...targetOf(server), service: stranger }).write(source, sinkOptions())
  await expect(pushed).rejects.toMatchObject({ code: "unauthenticated" })
})

test("rows that violate foreign keys are named, before anything is made", async () => {
  const { engine, storage, database } = await startDatabase()
  database.writer.run(`PRAGMA foreign_keys = OFF;
    CREATE TABLE p(id PRIMARY KEY);
    CREATE TABLE c(x REFERENCES p);
    INSERT INTO c VALUES (NULL), (1);
    CREATE TABLE w(x REFERENCES p, y PRIMARY KEY) WITHOUT ROWID;
    INSERT INTO w VALUES (2, 3)`)
  await database.close()
  await using violated = await TestService.start({}, { engine, storage })
  const before = await databases()
  const pushed = replay(targetOf(server)).write(sourceOf(violated, databaseId), sinkOptions())
  const failure = await pushed.catch((error: unknown) => error)
  expect(String(failure)).toContain("rows violate foreign keys: w (of p), c rowid 2 (of p)")
  expect(failure).toHaveProperty("code", "failed_precondition")
  expect(await databases()).toEqual(before)
})
