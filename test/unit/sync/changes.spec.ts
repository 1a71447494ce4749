import { expect, test } from "@playwright/test"
import type { Connection } from "../../../src/client/index.ts"
import { applyChanges } from "../../../src/sync/changes/apply.ts"
import { collectChanges } from "../../../src/sync/changes/collect.ts"
import { contentHash, PushConflict, replay } from "../../../src/sync/index.ts"
import { makePlan } from "../../../src/sync/replay/plan.ts"
import { run } from "../../fixtures/local-connection.ts"
import { type NodeServer, startServer } from "../../fixtures/node-server.ts"
import { connectSocket, quietSource, targetOf } from "../../fixtures/replay.ts"
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

/** A target made of `before`, and copies of the source from then and from now. */
async function diverge(before: readonly string[], after: readonly string[]) {
  const then = await quietSource(service, before)
  const now = await quietSource(service, [...before, ...after])
  const { databaseId } = await replay(targetOf(server)).write(then, sinkOptions())
  const [base, current] = await Promise.all([then.open(), now.open()])
  const target = await connectSocket(server.wsUrl, databaseId as string)
  const apply = async () => {
    const plan = await makePlan(current.connection, {})
    const changes = await collectChanges(base.connection, current.connection, {})
    const tables = [...plan.groups.flatMap(({ tables }) => tables), ...plan.virtual]
    await applyChanges(target, changes, tables, {})
    return changes.rows.length
  }
  return {
    ...{ target, apply, current: current.connection },
    async [Symbol.asyncDispose]() {
      await Promise.all([base.release(), current.release(), target.close()])
    },
  }
}

const hashOf = async (db: Connection) => (await contentHash(db)).sha256

const schema = [
  "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE COLLATE NOCASE, data)",
  "CREATE TABLE w(a TEXT COLLATE NOCASE, b, n, PRIMARY KEY (b DESC, a)) WITHOUT ROWID",
  "CREATE TABLE plain(x)",
  "CREATE TABLE child(id INTEGER PRIMARY KEY, up REFERENCES t(id) ON DELETE CASCADE)",
  "CREATE TABLE log(what)",
  "CREATE VIRTUAL TABLE ft USING fts5(name, content='t', content_rowid='id')",
  "CREATE VIRTUAL TABLE own USING fts5(body)",
  "CREATE VIRTUAL TABLE box USING rtree(id, x0, x1)",
  "CREATE TRIGGER t_in AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('in ' || new.id); INSERT INTO ft(rowid, name) VALUES (new.id, new.name); END",
  "CREATE TRIGGER t_up AFTER UPDATE ON t BEGIN INSERT INTO log VALUES ('up ' || new.id); INSERT INTO ft(ft, rowid, name) VALUES ('delete', old.id, old.name); INSERT INTO ft(rowid, name) VALUES (new.id, new.name); END",
  "CREATE TRIGGER t_out AFTER DELETE ON t BEGIN INSERT INTO ft(ft, rowid, name) VALUES ('delete', old.id, old.name); END",
  "INSERT INTO t VALUES (1, 'one', 1), (2, 'two', -0.0), (3, 'three', x'00ff'), (4, 'four', CAST(x'ff' AS TEXT))",
  "INSERT INTO w VALUES ('x', 1, 'a'), ('Y', 1, 'b'), ('a', 2, NULL), ('B', 1.5, 9007199254740993), (x'ff', 7, 0)".replace(
    "NULL, 0",
    "7, 0",
  ),
  "INSERT INTO plain VALUES (1), (1), (1)",
  "INSERT INTO child VALUES (10, 1), (11, 2), (12, 2)",
  "INSERT INTO own VALUES ('some text'), ('other text')",
  "INSERT INTO box VALUES (1, 0, 1), (2, 5, 6)",
  "WITH n(v) AS (SELECT 100 UNION ALL SELECT v + 1 FROM n WHERE v < 3000) INSERT INTO plain SELECT v FROM n",
]

const edits = [
  "UPDATE t SET name = 'ONE', data = 0.0 WHERE id = 1",
  "UPDATE child SET up = 1 WHERE id = 12",
  "DELETE FROM t WHERE id = 2",
  "INSERT INTO t(name, data) VALUES ('two', 'again')",
  "UPDATE t SET data = CAST(x'fe00' AS TEXT) WHERE id = 4",
  "UPDATE w SET n = 'B' WHERE a = 'y'",
  "DELETE FROM w WHERE b = 2",
  "INSERT INTO w VALUES ('z', 1, 1e999), ('Ä', -3, 2)",
  "UPDATE plain SET x = x + 1 WHERE x % 500 = 0",
  "DELETE FROM plain WHERE rowid = 2",
  "INSERT INTO child VALUES (13, 5)",
  "UPDATE own SET body = 'new text' WHERE rowid = 1",
  "INSERT INTO own VALUES ('third')",
  "DELETE FROM box WHERE id = 1",
  "INSERT INTO box VALUES (7, 1.1, 2.2)",
  "PRAGMA user_version = 9",
]

test("changes bring the target to the same content, and twice is the same as once", async () => {
  await using sides = await diverge(schema, edits)
  const { tip } = sides.target
  expect(await sides.apply()).toBe(25)
  expect(await hashOf(sides.target)).toBe(await hashOf(sides.current))
  expect(sides.target.tip).toBe(tip + 1)
  expect(await sides.target.query("SELECT rowid FROM ft('two')").all()).toEqual([{ rowid: 5 }])
  expect(await sides.target.query("PRAGMA integrity_check", [], { rowMode: "array" }).all()).toEqual([["ok"]])
  await sides.apply()
  expect(await hashOf(sides.target)).toBe(await hashOf(sides.current))
})

const conflicts: Record<string, { theirs: string; conflict: object }> = {
  "a row that both changed": {
    theirs: "UPDATE t SET data = 'theirs' WHERE id = 1",
    conflict: { table: "t", kind: "update", key: [1n] },
  },
  "another column of such a row": {
    theirs: "UPDATE t SET name = 'onE' WHERE id = 1",
    conflict: { table: "t", kind: "update", key: [1n] },
  },
  "a row that they deleted": { theirs: "DELETE FROM box WHERE id = 1 OR id = 2", conflict: {} },
  "a row that they changed and the source deleted": {
    theirs: "UPDATE w SET n = 'theirs' WHERE b = 2",
    conflict: { table: "w", kind: "delete", key: [2n, "a"] },
  },
  "a row that both inserted": {
    theirs: "INSERT INTO own(rowid, body) VALUES (3, 'theirs')",
    conflict: { table: "own", kind: "insert", key: [3n] },
  },
  "rows that an ON DELETE would take along": {
    theirs: "INSERT INTO child VALUES (99, 2)",
    conflict: { kind: "foreign key action" },
  },
  "a schema of their own": { theirs: "CREATE TABLE theirs(a)", conflict: { kind: "schema" } },
}

for (const [name, { theirs, conflict }] of Object.entries(conflicts)) {
  test(`a conflict is named and nothing is applied: ${name}`, async () => {
    await using sides = await diverge(schema, edits)
    await run(sides.target, [theirs])
    const before = await contentHash(sides.target)
    if (Object.keys(conflict).length === 0) {
      // Gone on both sides: that is no conflict.
      await sides.apply()
      return
    }
    const failure = await sides.apply().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(PushConflict)
    expect(failure).toMatchObject({ code: "aborted", conflicts: [conflict] })
    expect(await contentHash(sides.target)).toEqual(before)
  })
}

test("rows that only the target changed stay as they are", async () => {
  await using sides = await diverge(schema, edits)
  await run(sides.target, [
    "UPDATE plain SET x = 'theirs' WHERE rowid = 3",
    "INSERT INTO plain(rowid, x) VALUES (90000, 'theirs')",
  ])
  await sides.apply()
  expect(await sides.target.query("SELECT x FROM plain WHERE rowid = 3").first()).toEqual({ x: "theirs" })
  expect(await sides.target.query("SELECT x FROM plain WHERE rowid = 90000").first()).toEqual({ x: "theirs" })
  expect(await sides.target.query("SELECT name FROM t WHERE id = 1").first()).toEqual({ name: "ONE" })
})

const snapshots: Record<string, [string[], string[], RegExp]> = {
  "the schema changed": [["CREATE TABLE t(a)"], ["ALTER TABLE t ADD COLUMN b"], /^the schema changed$/],
  "rows without a key": [["CREATE TABLE t(rowid, _rowid_, oid)"], ["INSERT INTO t VALUES (1, 2, 3)"], /"t" has no key/],
  "a value that is too large": [
    ["CREATE TABLE t(a)"],
    ["INSERT INTO t VALUES (zeroblob(3000000))"],
    /^a changed value of "t" is too large$/,
  ],
  "too much": [
    ["CREATE TABLE t(a)"],
    ["WITH n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 100001) INSERT INTO t SELECT v FROM n"],
    /too much changed/,
  ],
}

for (const [name, [before, after, reason]] of Object.entries(snapshots)) {
  test(`a snapshot is asked for: ${name}`, async () => {
    await using sides = await diverge(before, after)
    await expect(sides.apply()).rejects.toMatchObject({ reason: expect.stringMatching(reason) })
  })
}

test("an equal value that is too large for its row does not count as changed", async () => {
  const big = ["CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES (1, zeroblob(3000000), 'x')"]
  await using sides = await diverge(big, ["UPDATE t SET b = 'y'", "INSERT INTO t VALUES (2, NULL, NULL)"])
  expect(await sides.apply()).toBe(2)
  expect(await hashOf(sides.target)).toBe(await hashOf(sides.current))
})

test("rows of 2,000 columns are changed one by one; with a rowid beside them they need a snapshot", async () => {
  const columns = Array.from({ length: 1999 }, (_, i) => `c${i}`).join(", ")
  await using wide = await diverge(
    [
      `CREATE TABLE wide(id INTEGER PRIMARY KEY, ${columns})`,
      "INSERT INTO wide(id, c0, c1998) VALUES (1, 'one', x'01'), (2, 'two', 2.5), (3, 'three', NULL)",
    ],
    [
      "UPDATE wide SET c1000 = 'changed', c1998 = -0.0 WHERE id = 1",
      "DELETE FROM wide WHERE id = 2",
      "INSERT INTO wide(id, c1998) VALUES (4, 'new')",
    ],
  )
  expect(await wide.apply()).toBe(3)
  expect(await hashOf(wide.target)).toBe(await hashOf(wide.current))
  const beyond = [`CREATE TABLE wide(${columns}, c1999)`]
  await using wider = await diverge(beyond, ["INSERT INTO wide(c0) VALUES (1)"])
  await expect(wider.apply()).rejects.toThrow('"wide" has more than 2000 columns with its rowid')
})
