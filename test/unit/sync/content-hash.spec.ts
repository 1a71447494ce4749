import { expect, test } from "@playwright/test"
import type { Connection } from "../../../src/client/index.ts"
import { contentHash } from "../../../src/sync/content-hash.ts"
import { connectTo, run } from "../../fixtures/local-connection.ts"
import { TestService } from "../../fixtures/service.ts"

let service: TestService
test.beforeAll(async () => {
  service = await TestService.start()
})
test.afterAll(() => service[Symbol.asyncDispose]())

async function made(statements: readonly string[]): Promise<Connection> {
  const { databaseId } = await service.management.create()
  const connection = await connectTo(service, databaseId)
  await run(connection, statements)
  return connection
}

async function hashOf(...statements: string[]): Promise<string> {
  await using connection = await made(statements)
  return (await contentHash(connection)).sha256
}

const plain = "CREATE TABLE t(a, b)"

test("what no SQL can tell apart has one hash, whatever the pages are", async () => {
  const straight = await hashOf(plain, "CREATE INDEX i ON t(a)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
  const detour = await hashOf(
    "CREATE TABLE gone(a)",
    plain,
    "INSERT INTO t(rowid, a, b) VALUES (2, 2, 'y'), (3, 'no', NULL), (1, 1, 'x')",
    "CREATE INDEX i ON t(a)",
    "DELETE FROM t WHERE rowid = 3",
    "DROP TABLE gone",
    "VACUUM",
  )
  expect(detour).toBe(straight)
})

test("every change that SQL can see changes it", async () => {
  const variants: string[][] = [
    [plain],
    ["CREATE TABLE t(a,  b)"],
    [plain, "PRAGMA user_version = 1"],
    [plain, "PRAGMA application_id = 1"],
    [plain, "CREATE INDEX i ON t(a)"],
    [plain, "CREATE VIEW v AS SELECT a FROM t"],
    [plain, "CREATE TABLE u(a)"],
    [plain, "INSERT INTO t VALUES (NULL, NULL)"],
    [plain, "INSERT INTO t VALUES (1, NULL)"],
    [plain, "INSERT INTO t VALUES (NULL, 1)"],
    [plain, "INSERT INTO t VALUES (1.0, NULL)"],
    [plain, "INSERT INTO t VALUES (-0.0, NULL)"],
    [plain, "INSERT INTO t VALUES (0.0, NULL)"],
    [plain, "INSERT INTO t VALUES ('1', NULL)"],
    [plain, "INSERT INTO t VALUES (x'31', NULL)"],
    [plain, "INSERT INTO t VALUES (CAST(x'31FF' AS TEXT), NULL)"],
    [plain, "INSERT INTO t VALUES (CAST(x'31FE' AS TEXT), NULL)"],
    [plain, "INSERT INTO t VALUES (CAST(x'3100' AS TEXT), NULL)"],
    [plain, "INSERT INTO t VALUES (9007199254740993, NULL)"],
    [plain, "INSERT INTO t VALUES (9007199254740992, NULL)"],
    [plain, "INSERT INTO t VALUES ('ab', 'c')"],
    [plain, "INSERT INTO t VALUES ('a', 'bc')"],
    [plain, "INSERT INTO t(rowid, a) VALUES (7, 1)"],
    ["CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT)"],
    ["CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO t VALUES (9)", "DELETE FROM t"],
    [plain, "INSERT INTO t VALUES (1, 2)", "CREATE INDEX i ON t(a)"],
    [plain, "INSERT INTO t VALUES (1, 2)", "CREATE INDEX i ON t(a)", "ANALYZE"],
    ["CREATE VIRTUAL TABLE f USING fts5(a)"],
    ["CREATE VIRTUAL TABLE f USING fts5(a)", "INSERT INTO f VALUES ('one')"],
    ["CREATE VIRTUAL TABLE f USING fts5(a)", "INSERT INTO f(rowid, a) VALUES (5, 'one')"],
    ["CREATE VIRTUAL TABLE f USING fts5(a)", "INSERT INTO f(f, rank) VALUES ('pgsz', 1000)"],
    ["CREATE VIRTUAL TABLE f USING fts5(a, content='')"],
    ["CREATE VIRTUAL TABLE f USING fts5(a, content='')", "INSERT INTO f(rowid, a) VALUES (1, 'one')"],
    ["CREATE VIRTUAL TABLE f USING fts5(a, content='')", "INSERT INTO f(rowid, a) VALUES (1, 'two')"],
    ["CREATE VIRTUAL TABLE r USING rtree(id, x0, x1, +note)"],
    ["CREATE VIRTUAL TABLE r USING rtree(id, x0, x1, +note)", "INSERT INTO r VALUES (1, 0, 1, 'n')"],
    ["CREATE VIRTUAL TABLE r USING rtree(id, x0, x1, +note)", "INSERT INTO r VALUES (1, 0, 1, 'm')"],
    ["CREATE TABLE w(a, b, PRIMARY KEY (b DESC, a COLLATE NOCASE)) WITHOUT ROWID"],
    [
      "CREATE TABLE w(a, b, PRIMARY KEY (b DESC, a COLLATE NOCASE)) WITHOUT ROWID",
      "INSERT INTO w VALUES ('a', 1), ('B', 1)",
    ],
    [
      "CREATE TABLE w(a, b, PRIMARY KEY (b DESC, a COLLATE NOCASE)) WITHOUT ROWID",
      "INSERT INTO w VALUES ('A', 1), ('B', 1)",
    ],
    ["CREATE TABLE s(rowid, _rowid_, oid)"],
    ["CREATE TABLE s(rowid, _rowid_, oid)", "INSERT INTO s VALUES (1, 2, 3)"],
    ["CREATE TABLE s(rowid, _rowid_, oid)", "INSERT INTO s VALUES (1, 2, 3), (1, 2, 3)"],
  ]
  const hashes = new Map<string, string>()
  for (const variant of variants) {
    const hash = await hashOf(...variant)
    expect(hashes.get(hash), variant.join("; ")).toBeUndefined()
    hashes.set(hash, variant.join("; "))
    expect(await hashOf(...variant)).toBe(hash)
  }
})

test("a value that no frame can carry counts to its last byte", async () => {
  const big = (end: string) => [
    plain,
    `INSERT INTO t VALUES (1, CAST(zeroblob(20000000) || x'${end}' AS BLOB)), (2, replace(hex(zeroblob(9000000)), '0', 'ab') || '${end}')`,
  ]
  const hash = await hashOf(...big("01"))
  expect(await hashOf(...big("01"))).toBe(hash)
  expect(await hashOf(...big("02"))).not.toBe(hash)
})

test("rows of several queries are read once each", async () => {
  await using connection = await made([
    plain,
    "WITH n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 150) INSERT INTO t SELECT v, zeroblob(1000000) FROM n",
  ])
  const before = await contentHash(connection)
  expect(before.rows).toBe(150)
  await run(connection, ["UPDATE t SET b = 0 WHERE rowid = 100"])
  expect((await contentHash(connection)).sha256).not.toBe(before.sha256)
  await run(connection, ["UPDATE t SET b = zeroblob(1000000) WHERE rowid = 100"])
  const { sha256, tip } = await contentHash(connection)
  expect(sha256).toBe(before.sha256)
  expect(tip).toBe(before.tip + 2)
})

test("a commit in the middle is an error and no hash of two states", async () => {
  await using connection = await made([plain, "CREATE TABLE z(a)", "INSERT INTO t VALUES (1, 2)"])
  let committed: Promise<unknown> | undefined
  const onProgress = () => {
    committed ??= connection.exec("INSERT INTO z VALUES (1)")
  }
  await expect(contentHash(connection, { onProgress })).rejects.toMatchObject({ code: "aborted" })
  await committed
})
