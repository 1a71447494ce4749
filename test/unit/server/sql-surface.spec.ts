import { expect, test } from "@playwright/test"
import { TestService } from "../../fixtures/service.ts"
import { settle, type WirePeer } from "../../fixtures/wire-peer.ts"

const oneRow = { firstBatchBytes: 1, batchBytes: 1 }

/** Each way that a statement can come; a batch's error has its place before the message. */
const paths: Record<string, (peer: WirePeer, sql: string) => ReturnType<WirePeer["exec"]>> = {
  exec: (peer, sql) => peer.exec(sql),
  query: (peer, sql) => peer.query(sql),
  batch: (peer, sql) => peer.batch(sql),
}

async function onEveryPath(peer: WirePeer, sql: string, check: Parameters<typeof onPath>[3]): Promise<void> {
  for (const path of Object.keys(paths)) await onPath(peer, path, sql, check)
  await peer.begin()
  for (const path of Object.keys(paths)) await onPath(peer, path, sql, check, " in a transaction")
  expect((await peer.rollback()).error, sql).toBeUndefined()
}

async function onPath(
  peer: WirePeer,
  path: string,
  sql: string,
  check: (code: string | undefined, where: string) => void,
  where = "",
): Promise<void> {
  const { error } = (await paths[path]?.(peer, sql)) ?? {}
  check(error?.code, `${sql} as ${path}${where}: ${error?.message}`)
}

test("what the authorizer refuses is permission_denied on every path, and the socket stays", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  for (const sql of [
    "ATTACH ':memory:' AS x",
    "ATTACH 'file:x?vfs=memdb' AS x",
    "DETACH main",
    "VACUUM INTO 'x'",
    "VACUUM main INTO ''",
    "VACUUM temp INTO 'x'",
    "; /* a */ -- b\n vacuum \"temp\" into 'x' || 'y'",
    "VACUUM temp",
    "CREATE TEMP TABLE x(a)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
    "CREATE TABLE temp.x(a)",
    "SELECT data FROM sqlite_dbpage",
    "SELECT data FROM main.sqlite_dbpage('main')",
    "UPDATE sqlite_dbpage SET data = x'00' WHERE pgno = 1",
    "INSERT INTO sqlite_dbpage(pgno, data) VALUES(1, x'00')",
    "PRAGMA writable_schema = ON",
    "PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA foreign_keys = OFF",
    "SELECT * FROM pragma_journal_mode",
  ]) {
    await onEveryPath(peer, sql, (code, where) => expect(code, where).toBe("permission_denied"))
  }
  expect((await peer.query("SELECT name FROM sqlite_schema")).rows).toEqual([["t"]])
})

const readable = [
  ...["table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"],
  ...["foreign_key_check", "function_list", "collation_list", "compile_options", "integrity_check", "quick_check"],
  ...["optimize", "user_version", "application_id", "page_count", "page_size", "freelist_count", "encoding"],
  "data_version",
]

/** Those that work inside a transaction only. */
const local = ["defer_foreign_keys", "recursive_triggers"]

/** Every pragma that SQLite has, those of other builds too. */
const all = [
  ...["analysis_limit", "application_id", "auto_vacuum", "automatic_index", "busy_timeout", "cache_size"],
  ...["cache_spill", "case_sensitive_like", "cell_size_check", "checkpoint_fullfsync", "collation_list"],
  ...["compile_options", "count_changes", "data_store_directory", "data_version", "database_list"],
  ...["default_cache_size", "defer_foreign_keys", "empty_result_callbacks", "encoding", "foreign_key_check"],
  ...["foreign_key_list", "foreign_keys", "freelist_count", "full_column_names", "fullfsync", "function_list"],
  ...["hard_heap_limit", "ignore_check_constraints", "incremental_vacuum", "index_info", "index_list", "index_xinfo"],
  ...["integrity_check", "journal_mode", "journal_size_limit", "legacy_alter_table", "lock_status", "locking_mode"],
  ...["max_page_count", "mmap_size", "module_list", "optimize", "page_count", "page_size", "parser_trace"],
  ...["pragma_list", "query_only", "quick_check", "read_uncommitted", "recursive_triggers"],
  ...["reverse_unordered_selects", "schema_version", "secure_delete", "short_column_names", "shrink_memory"],
  ...["soft_heap_limit", "sql_trace", "stats", "synchronous", "table_info", "table_list", "table_xinfo"],
  ...["temp_store", "temp_store_directory", "threads", "trusted_schema", "user_version", "vdbe_addoptrace"],
  ...["vdbe_debug", "vdbe_listing", "vdbe_trace", "wal_autocheckpoint", "wal_checkpoint", "writable_schema"],
]

test("each pragma of the list can be read on every path, and no other", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.batch("CREATE TABLE t(x PRIMARY KEY)", "CREATE INDEX i ON t(x)", "INSERT INTO t VALUES(1)")
  const argument = (name: string) =>
    /^table_x?info|_list$/.test(name) ? "(t)" : /^index_x?info$/.test(name) ? "(i)" : ""
  for (const name of readable) {
    // A few lists take no argument and ignore it.
    const sql = `PRAGMA ${name}${argument(name)}`
    await onEveryPath(peer, sql, (code, where) => expect(code, where).toBeUndefined())
    expect((await peer.query(`PRAGMA main.${name}${argument(name)}`)).error, name).toBeUndefined()
  }
  for (const name of all) {
    if (readable.includes(name) || local.includes(name)) continue
    for (const sql of [`PRAGMA ${name}`, `PRAGMA ${name} = 1`, `PRAGMA main.${name.toUpperCase()}(1)`]) {
      await onEveryPath(peer, sql, (code, where) => expect(code, where).toBe("permission_denied"))
    }
  }
})

test("user_version and application_id can be written; the other settings among the readable ones cannot", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  let value = 1n
  for (const name of ["user_version", "application_id"]) {
    for (const write of Object.values(paths)) {
      value++
      expect((await write(peer, `PRAGMA ${name} = ${value}`)).error).toBeUndefined()
      expect((await peer.query(`PRAGMA ${name}`)).rows).toEqual([[value]])
    }
    await peer.begin()
    expect((await peer.exec(`PRAGMA ${name} = 99`)).error).toBeUndefined()
    await peer.rollback()
    expect((await peer.query(`PRAGMA ${name}`)).rows).toEqual([[value]])
  }
  for (const name of ["page_count", "page_size", "freelist_count", "encoding", "data_version"]) {
    for (const sql of [`PRAGMA ${name} = 4096`, `PRAGMA ${name}('UTF-16')`]) {
      await onEveryPath(peer, sql, (code, where) => expect(code, where).toBe("permission_denied"))
    }
  }
})

test("VACUUM works outside a transaction, also beside a stream that is half read", async () => {
  await using at = await TestService.start(oneRow)
  const [peer, other] = [await at.connect(), await at.connect()]
  await peer.batch("CREATE TABLE t(x)", "INSERT INTO t VALUES(1),(2),(3),(4),(5),(6)")
  const stream = other.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: [] })
  await settle(other)
  expect((await peer.exec("VACUUM")).execs[0]).toMatchObject({ rowsAffected: 0n, lastInsertId: 0n, tip: 2n })
  expect(await peer.query("vacuum main")).toMatchObject({ kinds: ["columns", "done"], done: { tip: 3n } })
  other.credit(stream.id, 10)
  expect((await stream.answer).done).toMatchObject({ totalRows: 6n, tip: 1n })
  await peer.begin()
  expect((await peer.exec("VACUUM")).error?.message).toBe("cannot VACUUM from within a transaction")
  expect((await peer.commit()).error).toBeUndefined()
})

test("FTS5 and RTREE work on every path, on sockets that never saw them before", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  expect((await peer.exec("CREATE VIRTUAL TABLE f USING fts5(title, body)")).error).toBeUndefined()
  expect((await peer.exec("CREATE VIRTUAL TABLE r USING rtree(id, x0, x1)")).error).toBeUndefined()
  const insert = await peer.exec("INSERT INTO f VALUES('one', 'running dogs'), ('two', 'sleeping cats')")
  expect(insert.execs[0]).toMatchObject({ rowsAffected: 2n, lastInsertId: 2n })
  const batch = await peer.batch(
    "INSERT INTO r VALUES(1, 0, 10), (2, 20, 30)",
    "UPDATE f SET body = 'running cats' WHERE title = 'two'",
    "SELECT title FROM f('running') ORDER BY rowid",
    "SELECT id FROM r WHERE x0 < 15 AND x1 > 5",
  )
  expect(batch.execs).toMatchObject([
    { rowsAffected: 2n, lastInsertId: 2n },
    { rowsAffected: 1n, lastInsertId: 0n },
  ])
  expect(batch.rows).toEqual([["one"], ["two"], [1n]])
  const other = await at.connect()
  expect((await other.query("SELECT rowid FROM f('cats')")).rows).toEqual([[2n]])
  expect((await other.query("INSERT INTO f VALUES('three', 'birds') RETURNING title")).rows).toEqual([["three"]])
  await other.begin()
  await other.exec("DELETE FROM r WHERE id = 1")
  expect((await other.query("SELECT id FROM r")).rows).toEqual([[2n]])
  expect((await other.rollback()).error).toBeUndefined()
  expect((await other.exec("VACUUM")).error).toBeUndefined()
  expect((await other.query("PRAGMA integrity_check")).rows).toEqual([["ok"]])
  for (const table of ["f", "r"]) expect((await other.exec(`DROP TABLE ${table}`)).error).toBeUndefined()
})
