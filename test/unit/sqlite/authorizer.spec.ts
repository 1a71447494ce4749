import { expect, test } from "@playwright/test"
import type { StatementScope } from "../../../src/sqlite/connection.ts"
import { codeOf, execute, failureOf, one, query, startDatabase } from "../../fixtures/engine.ts"

const setup = [
  "CREATE TABLE t(id INTEGER PRIMARY KEY, x)",
  "CREATE TABLE log(x)",
  "CREATE VIEW v AS SELECT changes() AS c",
  "CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (last_insert_rowid()); END",
]

async function start() {
  const started = await startDatabase()
  for (const sql of setup) execute(started.database.writer, sql)
  return started
}

const everywhere: StatementScope[] = ["autocommit", "transaction", "batch"]

const refused: [sql: string, code: string, saying: RegExp, scopes?: StatementScope[]][] = [
  ["ATTACH ':memory:' AS x", "permission_denied", /ATTACH/],
  ["EXPLAIN ATTACH ':memory:' AS x", "permission_denied", /ATTACH/],
  ["DETACH main", "permission_denied", /DETACH/],
  ["VACUUM INTO '/x'", "permission_denied", /DumpDatabase/],
  ["VACUUM INTO ''", "permission_denied", /DumpDatabase/],
  [" ; /* c */ vacuum main into 'a' || 'b'", "permission_denied", /DumpDatabase/],
  ["CREATE TEMP TABLE x(a)", "permission_denied", /TEMP/],
  ["CREATE TABLE temp.x(a)", "permission_denied", /TEMP/],
  ["CREATE TEMP TABLE x AS SELECT 1", "permission_denied", /TEMP/],
  ["CREATE TEMP VIEW x AS SELECT 1", "permission_denied", /TEMP/],
  ["CREATE VIEW temp.x AS SELECT 1", "permission_denied", /TEMP/],
  ["CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END", "permission_denied", /TEMP/],
  ["CREATE VIRTUAL TABLE temp.x USING fts5(a)", "permission_denied", /TEMP/],
  ["SELECT count(*) FROM sqlite_dbpage", "permission_denied", /dbpage/],
  ["SELECT 1 FROM SQLITE_DBPAGE", "permission_denied", /dbpage/],
  ["UPDATE sqlite_dbpage SET data = x'00'", "permission_denied", /dbpage/],
  ["DELETE FROM sqlite_dbpage", "permission_denied", /dbpage/],
  ["CREATE VIRTUAL TABLE p USING sqlite_dbpage", "permission_denied", /dbpage/],
  ["PRAGMA writable_schema=ON", "permission_denied", /writable_schema/],
  ["PRAGMA journal_mode", "permission_denied", /journal_mode/],
  ["PRAGMA journal_mode=DELETE", "permission_denied", /journal_mode/],
  ["PRAGMA main.synchronous=OFF", "permission_denied", /synchronous/],
  ["PRAGMA foreign_keys=OFF", "permission_denied", /foreign_keys/],
  ["PRAGMA wal_checkpoint", "permission_denied", /wal_checkpoint/],
  ["PRAGMA query_only=OFF", "permission_denied", /query_only/],
  ["PRAGMA hard_heap_limit=1", "permission_denied", /hard_heap_limit/],
  ["PRAGMA no_such_pragma", "permission_denied", /no_such_pragma/],
  ["PRAGMA page_size=512", "permission_denied", /cannot be set/],
  ["PRAGMA encoding='UTF-16'", "permission_denied", /cannot be set/],
  ["PRAGMA Page_Count(7)", "permission_denied", /cannot be set/],
  ["BEGIN", "failed_precondition", /Begin frame/],
  ["/*x*/ begin immediate", "failed_precondition", /Begin frame/],
  ["COMMIT", "failed_precondition", /Commit frame/],
  ["END", "failed_precondition", /Commit frame/],
  ["ROLLBACK", "failed_precondition", /Rollback frame/],
  ["SAVEPOINT s", "failed_precondition", /Begin frame/, ["autocommit"]],
  ["RELEASE s", "failed_precondition", /Begin frame/, ["autocommit"]],
  ["ROLLBACK TO s", "failed_precondition", /Begin frame/, ["autocommit"]],
  ["SAVEPOINT s", "failed_precondition", /batch/, ["batch"]],
  ["RELEASE s", "failed_precondition", /batch/, ["batch"]],
  ["ROLLBACK TO s", "failed_precondition", /batch/, ["batch"]],
  ["SELECT last_insert_rowid()", "failed_precondition", /last_insert_id/, ["autocommit"]],
  ["SELECT Changes()", "failed_precondition", /rows_affected/, ["autocommit"]],
  ["INSERT INTO t(x) VALUES (total_changes())", "failed_precondition", /rows_affected/, ["autocommit"]],
  ["SELECT * FROM v", "failed_precondition", /changes/, ["autocommit"]],
  ["PRAGMA defer_foreign_keys=ON", "failed_precondition", /inside a transaction/, ["autocommit"]],
  ["PRAGMA defer_foreign_keys", "failed_precondition", /inside a transaction/, ["autocommit"]],
  ["PRAGMA recursive_triggers=ON", "failed_precondition", /inside a transaction/, ["autocommit"]],
]

test("what the protocol refuses is refused, with a code and a message that help", async () => {
  const { database } = await start()
  for (const [sql, code, saying, scopes = everywhere] of refused) {
    for (const scope of scopes) {
      const failure = failureOf(() => database.writer.prepare(sql, scope).finalize())
      expect({ sql, scope, code: failure?.code }).toEqual({ sql, scope, code })
      expect(failure?.message).toMatch(saying)
    }
  }
  expect(database.writer.inTransaction).toBe(false)
})

test("a pragma function is judged by the pragma behind it, when it runs", async () => {
  const { database } = await start()
  expect(codeOf(() => query(database.writer, "SELECT * FROM pragma_journal_mode"))).toBe("permission_denied")
  expect(query(database.writer, "SELECT name FROM pragma_table_info('t')")).toEqual([["id"], ["x"]])
})

const allowed: string[] = [
  "PRAGMA table_info(t)",
  "PRAGMA table_xinfo(t)",
  "PRAGMA table_list",
  "PRAGMA index_list(t)",
  "PRAGMA index_info(i)",
  "PRAGMA index_xinfo(i)",
  "PRAGMA foreign_key_list(t)",
  "PRAGMA foreign_key_check",
  "PRAGMA function_list",
  "PRAGMA collation_list",
  "PRAGMA compile_options",
  "PRAGMA integrity_check",
  "PRAGMA quick_check",
  "PRAGMA optimize",
  "PRAGMA user_version",
  "PRAGMA user_version=7",
  "PRAGMA application_id=9",
  "PRAGMA page_count",
  "PRAGMA page_size",
  "PRAGMA freelist_count",
  "PRAGMA encoding",
  "PRAGMA data_version",
  "SELECT count(*) FROM sqlite_stmt",
  "SELECT * FROM sqlite_schema",
  "INSERT INTO t(x) VALUES (1)",
  "CREATE INDEX i ON t(x)",
  "ANALYZE",
  "REINDEX",
  "ALTER TABLE t RENAME TO t2",
  "ALTER TABLE t2 RENAME COLUMN x TO y",
  "ALTER TABLE t2 ADD COLUMN z",
  "ALTER TABLE t2 DROP COLUMN z",
  "VACUUM",
  "vacuum main;",
  "EXPLAIN VACUUM",
  "EXPLAIN QUERY PLAN SELECT * FROM t2",
  "DROP VIEW v",
  "DROP TRIGGER tr",
]

test("what the protocol allows works", async () => {
  const { database } = await start()
  for (const sql of allowed) {
    expect({ sql, failure: failureOf(() => execute(database.writer, sql)) }).toEqual({ sql, failure: undefined })
  }
  expect(one(database.writer, "PRAGMA user_version")).toBe(7)
  database.close()
})

test("local functions work in triggers, and in a transaction's own text", async () => {
  const { database } = await start()
  execute(database.writer, "INSERT INTO t(id, x) VALUES (41, 'a')")
  expect(query(database.writer, "SELECT x FROM log")).toEqual([[41]])
  database.writer.run("BEGIN IMMEDIATE")
  execute(database.writer, "INSERT INTO t(id, x) VALUES (42, 'a')", [], "transaction")
  expect(execute(database.writer, "SELECT last_insert_rowid(), changes()", [], "transaction").rows).toEqual([[42, 1]])
  database.writer.run("COMMIT")
})

test("pragmas of a transaction are taken back", async () => {
  const { database } = await start()
  const { writer } = database
  writer.run("BEGIN IMMEDIATE")
  execute(writer, "PRAGMA recursive_triggers=ON", [], "transaction")
  expect(execute(writer, "PRAGMA recursive_triggers", [], "transaction").rows).toEqual([[1]])
  writer.run("COMMIT")
  writer.resetLocals()
  expect(execute(writer, "PRAGMA recursive_triggers", [], "transaction").rows).toEqual([[0]])
})

test("VACUUM inside a transaction is SQLite's own error", async () => {
  const { database } = await start()
  database.writer.run("BEGIN IMMEDIATE")
  expect(failureOf(() => execute(database.writer, "VACUUM", [], "batch"))).toEqual({
    code: "SQLITE_ERROR",
    message: "cannot VACUUM from within a transaction",
  })
})

test("FTS5 works: create, write, query, maintain, drop, on writer and reader", async () => {
  const { database } = await start()
  const { writer } = database
  for (const sql of [
    "CREATE VIRTUAL TABLE f USING fts5(title, body, tokenize='porter')",
    "INSERT INTO f VALUES ('one', 'running dogs'), ('two', 'sleeping cats')",
    "UPDATE f SET body='running cats' WHERE title='two'",
    "DELETE FROM f WHERE title='one'",
    "INSERT INTO f(f) VALUES ('optimize')",
    "INSERT INTO f(f) VALUES ('integrity-check')",
    "CREATE TABLE doc(id INTEGER PRIMARY KEY, body)",
    "CREATE VIRTUAL TABLE g USING fts5(body, content='doc', content_rowid='id')",
    "CREATE TRIGGER doc_ai AFTER INSERT ON doc BEGIN INSERT INTO g(rowid, body) VALUES (new.id, new.body); END",
    "INSERT INTO doc(body) VALUES ('hello world')",
  ]) {
    execute(writer, sql)
  }
  const reader = database.takeReader()
  expect(query(reader, "SELECT title, highlight(f, 1, '[', ']') FROM f('run') ORDER BY rank")).toEqual([
    ["two", "[running] cats"],
  ])
  expect(query(reader, "SELECT rowid FROM g('hello')")).toEqual([[1]])
  expect(one(reader, "PRAGMA integrity_check")).toBe("ok")
  database.giveReader(reader)
  execute(writer, "VACUUM")
  execute(writer, "DROP TABLE f")
  expect(codeOf(() => query(writer, "SELECT * FROM f"))).toBe("SQLITE_ERROR")
  database.close()
})

test("RTREE works, and its own statements do not blur what a statement is", async () => {
  const { engine, storage, database } = await start()
  execute(database.writer, "CREATE VIRTUAL TABLE r USING rtree(id, x0, x1)")
  execute(database.writer, "INSERT INTO r VALUES (1, 0, 10), (2, 20, 30)")
  database.close()
  const { reopen } = await import("../../fixtures/engine.ts")
  const again = await reopen(engine, storage)
  // The first use on a connection is when the virtual table prepares statements of its own.
  const update = execute(again.writer, "UPDATE t SET x = 1 WHERE id IN (SELECT id FROM r)")
  expect(update.kind).toMatchObject({ changesRows: true, inserts: false })
  expect(execute(again.writer, "SELECT id FROM r WHERE x0 < 15 AND x1 > 5")).toMatchObject({
    rows: [[1]],
    kind: { readonly: true, changesRows: false },
  })
  expect(one(again.writer, "SELECT rtreecheck('r')")).toBe("ok")
  execute(again.writer, "DROP TABLE r")
  again.close()
})

test("the engine protects shadow tables and the schema", async () => {
  const { database } = await start()
  execute(database.writer, "CREATE VIRTUAL TABLE f USING fts5(a)")
  expect(codeOf(() => execute(database.writer, "DELETE FROM f_data"))).toBe("SQLITE_ERROR")
  expect(codeOf(() => execute(database.writer, "DELETE FROM sqlite_schema"))).toBe("SQLITE_ERROR")
  const reader = database.takeReader()
  expect(codeOf(() => execute(reader, "INSERT INTO t(x) VALUES (1)"))).toBe("SQLITE_READONLY")
  database.giveReader(reader)
})

const kinds: [sql: string, kind: object][] = [
  ["INSERT INTO t(x) VALUES (1)", { inserts: true, changesRows: true, readonly: false, ddl: false }],
  ["REPLACE INTO t(id, x) VALUES (1, 2)", { inserts: true, changesRows: true }],
  ["WITH a AS (SELECT 1) INSERT INTO t(x) SELECT * FROM a", { inserts: true, changesRows: true }],
  ["INSERT INTO t(id) VALUES (1) ON CONFLICT DO UPDATE SET x = 1", { inserts: true, changesRows: true }],
  ["INSERT INTO t(x) VALUES (1) RETURNING id", { inserts: true, changesRows: true, readonly: false }],
  ["EXPLAIN INSERT INTO t(x) VALUES (1)", { inserts: false, changesRows: false, explain: true, readonly: true }],
  ["UPDATE t SET x = 1", { inserts: false, changesRows: true }],
  ["DELETE FROM t", { inserts: false, changesRows: true }],
  ["SELECT 1", { readonly: true, changesRows: false, inserts: false }],
  ["PRAGMA user_version = 3", { readonly: false, changesRows: false, ddl: false }],
  ["PRAGMA user_version", { readonly: true, changesRows: false }],
  ["CREATE TABLE u(a)", { ddl: true, changesRows: false, readonly: false, maintenance: false }],
  ["CREATE TABLE u AS SELECT 1", { ddl: true, changesRows: false, inserts: false }],
  ["DROP TABLE t", { ddl: true, changesRows: false }],
  ["CREATE INDEX i ON t(x)", { ddl: true, maintenance: true }],
  ["ALTER TABLE t ADD COLUMN y", { ddl: true, maintenance: true }],
  ["ANALYZE", { maintenance: true, changesRows: false }],
  ["REINDEX", { changesRows: false, vacuum: false }],
  ["VACUUM", { vacuum: true, maintenance: true, readonly: false, changesRows: false }],
  ["EXPLAIN VACUUM", { vacuum: false, explain: true }],
]

test("a statement is classified by what it does", async () => {
  const { database } = await start()
  for (const [sql, kind] of kinds) {
    const statement = database.writer.prepare(sql, "autocommit")
    expect({ sql, ...statement.kind }).toMatchObject({ sql, ...kind })
    statement.finalize()
  }
  const savepoint = database.writer.prepare("SAVEPOINT s", "transaction")
  expect(savepoint.kind).toMatchObject({ savepoint: true, readonly: false })
  savepoint.finalize()
})
