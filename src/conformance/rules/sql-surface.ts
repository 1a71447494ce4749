import { same } from "../deviation.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import type { Stage } from "../stage.ts"

/** Sees a statement refused in each way that it can come. */
async function isDenied(stage: Stage, ...statements: string[]): Promise<void> {
  const peer = await stage.connect()
  await stage.setUp(peer, "CREATE TABLE t(x)")
  for (const sql of statements) {
    refused(await peer.exec(sql), "permission_denied", `exec ${sql}`)
    refused(await peer.query(sql), "permission_denied", `query ${sql}`)
    refused(await peer.batch(sql), "permission_denied", `batch ${sql}`)
    succeeded(await peer.begin())
    refused(await peer.exec(sql), "permission_denied", `exec inside ${sql}`)
    succeeded(await peer.rollback())
  }
  same(await stage.rows(peer, "SELECT name FROM sqlite_schema"), [["t"]])
}

const readable = [
  ...["table_info(t)", "table_xinfo(t)", "table_list", "index_list(t)", "index_info(i)", "index_xinfo(i)"],
  ...["foreign_key_list(t)", "foreign_key_check", "function_list", "collation_list", "compile_options"],
  ...["integrity_check", "quick_check", "optimize", "user_version", "application_id", "page_count", "page_size"],
  ...["freelist_count", "encoding", "data_version"],
]

const otherPragmas = [
  ...["journal_mode", "journal_mode = DELETE", "foreign_keys = OFF", "synchronous = OFF", "cache_size"],
  ...["locking_mode", "temp_store_directory = '/'", "wal_checkpoint", "mmap_size = 1", "schema_version = 9"],
  ...["trusted_schema = ON", "ignore_check_constraints = ON", "query_only", "database_list", "max_page_count"],
]

export const sqlSurface = new Section("SQL surface")
  .rule("sql.attach", "ATTACH and DETACH are refused with `permission_denied`.", (stage) =>
    isDenied(stage, "ATTACH ':memory:' AS x", "ATTACH 'file:x?vfs=memdb' AS x", "ATTACH '' AS x", "DETACH main"),
  )
  .rule("sql.vacuum-into", "So is VACUUM INTO.", (stage) => isDenied(stage, "VACUUM INTO 'x'", "VACUUM main INTO ''"))
  .rule("sql.temp", "So are TEMP objects, everywhere.", (stage) =>
    isDenied(
      stage,
      "CREATE TEMP TABLE x(a)",
      "CREATE TABLE temp.x(a)",
      "CREATE TEMP VIEW x AS SELECT 1",
      "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
    ),
  )
  .rule("sql.dbpage", "So is `sqlite_dbpage`.", (stage) =>
    isDenied(stage, "SELECT data FROM sqlite_dbpage", "INSERT INTO sqlite_dbpage(pgno, data) VALUES(1, x'00')"),
  )
  .rule("sql.writable-schema", "So is `writable_schema`.", (stage) =>
    isDenied(stage, "PRAGMA writable_schema", "PRAGMA writable_schema = ON", "PRAGMA writable_schema = RESET"),
  )
  .rule("sql.other-pragmas", "So is every PRAGMA outside an allow-list.", (stage) =>
    isDenied(stage, ...otherPragmas.map((pragma) => `PRAGMA ${pragma}`)),
  )
  .rule("sql.readable-pragmas", "Allowed, read-only: introspection and what tells of the file.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(x PRIMARY KEY)", "CREATE INDEX i ON t(x)")
    for (const name of readable) {
      succeeded(await peer.query(`PRAGMA ${name}`), `query ${name}`)
      succeeded(await peer.exec(`PRAGMA ${name}`), `exec ${name}`)
      succeeded(await peer.batch(`PRAGMA ${name}`), `batch ${name}`)
    }
    for (const name of ["page_size", "encoding", "page_count"]) {
      refused(await peer.exec(`PRAGMA ${name} = 4096`), "permission_denied", `set ${name}`)
    }
  })
  .rule("sql.writable-pragmas", "Allowed, writable: `user_version`, `application_id`.", async (stage) => {
    const peer = await stage.connect()
    for (const name of ["user_version", "application_id"]) {
      succeeded(await peer.exec(`PRAGMA ${name} = 41`), name)
      succeeded(await peer.query(`PRAGMA ${name} = 42`), name)
      same(await stage.rows(peer, `PRAGMA ${name}`), [[42n]], name)
    }
  })
  .rule("sql.vacuum", "VACUUM works, outside a transaction.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(x)", "INSERT INTO t VALUES(zeroblob(100000))", "DELETE FROM t", "VACUUM")
    same(await stage.rows(peer, "PRAGMA freelist_count"), [[0n]])
    succeeded(await peer.begin())
    refused(await peer.exec("VACUUM"), "SQLITE_ERROR")
    succeeded(await peer.commit())
  })
  .rule("sql.fts5", "FTS5 works.", async (stage) => {
    const [peer, other] = await stage.two()
    await stage.setUp(peer, "CREATE VIRTUAL TABLE f USING fts5(title, body)")
    same(
      succeeded(await peer.exec("INSERT INTO f VALUES('one', 'running dogs'), ('two', 'cats')")).execs[0]?.rowsAffected,
      2n,
    )
    succeeded(await peer.batch("UPDATE f SET body = 'running cats' WHERE title = 'two'"))
    same(await stage.rows(other, "SELECT title FROM f('running') ORDER BY rowid"), [["one"], ["two"]])
    same(await stage.rows(other, "SELECT snippet(f, 1, '[', ']', '', 5) FROM f('dogs')"), [["running [dogs]"]])
    await stage.setUp(other, "DROP TABLE f")
  })
  .rule("sql.rtree", "RTREE works.", async (stage) => {
    const [peer, other] = await stage.two()
    await stage.setUp(
      peer,
      "CREATE VIRTUAL TABLE r USING rtree(id, x0, x1)",
      "INSERT INTO r VALUES(1, 0, 10), (2, 20, 30)",
    )
    same(await stage.rows(other, "SELECT id FROM r WHERE x0 < 15 AND x1 > 5"), [[1n]])
    await stage.setUp(other, "DELETE FROM r WHERE id = 1", "DROP TABLE r")
  })
  .rule("sql.foreign-keys", "Foreign keys are on.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(
      peer,
      "CREATE TABLE p(id INTEGER PRIMARY KEY)",
      "CREATE TABLE c(p REFERENCES p ON DELETE CASCADE)",
    )
    const orphan = "INSERT INTO c VALUES(1)"
    for (const answer of [await peer.exec(orphan), await peer.query(orphan), await peer.batch(orphan)]) {
      refused(answer, "SQLITE_CONSTRAINT_FOREIGNKEY")
    }
    await stage.setUp(peer, "INSERT INTO p VALUES(1)", orphan, "DELETE FROM p")
    same(await stage.count(peer, "c"), 0)
  })
  .rule(
    "sql.limits",
    "Limits of the build stand: 32,766 parameters, expression depth 1,000, 500 compound terms, 2,000 columns.",
    async (stage) => {
      const peer = await stage.connect()
      const repeat = (piece: string, count: number, separator: string) => Array(count).fill(piece).join(separator)
      same(await stage.rows(peer, "SELECT ?32766", ...Array<bigint>(32_766).fill(1n)), [[1n]])
      refused(await peer.query("SELECT ?32767"), "SQLITE_ERROR", "32,767 parameters")
      same(await stage.rows(peer, `SELECT ${repeat("1", 1_000, "+")}`), [[1_000n]])
      refused(await peer.query(`SELECT ${repeat("1", 1_001, "+")}`), "SQLITE_ERROR", "depth 1,001")
      same((await stage.rows(peer, repeat("SELECT 1", 500, " UNION ALL "))).length, 500)
      refused(await peer.query(repeat("SELECT 1", 501, " UNION ALL ")), "SQLITE_ERROR", "501 terms")
      same((await stage.rows(peer, `SELECT ${repeat("1", 2_000, ",")}`))[0]?.length, 2_000)
      refused(await peer.query(`SELECT ${repeat("1", 2_001, ",")}`), "SQLITE_ERROR", "2,001 columns")
    },
  ).rules
