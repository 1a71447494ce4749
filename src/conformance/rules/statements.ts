import { holds, same } from "../deviation.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import type { Given } from "../statement.ts"

export const statements = new Section("Statements")
  .rule(
    "statement.one",
    "Anything after the first beyond whitespace, comments and `;` is refused whole with `invalid_argument`.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      const two = "INSERT INTO t VALUES(1); INSERT INTO t VALUES(2)"
      for (const sql of [two, `${two};`, "INSERT INTO t VALUES(1) ;-- c\n x"]) {
        refused(await peer.exec(sql), "invalid_argument", `exec ${sql}`)
        refused(await peer.query(sql), "invalid_argument", `query ${sql}`)
        refused(await peer.batch(sql), "invalid_argument", `batch ${sql}`)
      }
      same(await stage.count(peer), 0)
    },
  )
  .rule("statement.tail", "Whitespace, a BOM, comments and `;` may follow it.", async (stage) => {
    const peer = await stage.connect()
    for (const sql of [
      "SELECT 1 -- c",
      "SELECT 1; -- c;",
      "SELECT 1;;;",
      "\ufeffSELECT 1;\ufeff",
      "SELECT 1 /* open",
    ]) {
      same(await stage.rows(peer, sql), [[1n]], sql)
    }
  })
  .rule("statement.nul", "SQL with U+0000 is refused with `invalid_argument`.", async (stage) => {
    const peer = await stage.connect()
    for (const sql of ["SELECT 1\u0000", "SELECT 'a\u0000b'", "\u0000", "SELECT 1;\u0000 DROP TABLE t"]) {
      refused(await peer.query(sql), "invalid_argument", JSON.stringify(sql))
    }
  })
  .rule("statement.none", "No statement at all (empty, only comments) is `invalid_argument`.", async (stage) => {
    const peer = await stage.connect()
    for (const sql of ["", " ", ";", "-- c", "/* c */", "\ufeff"]) {
      refused(await peer.query(sql), "invalid_argument", `query ${JSON.stringify(sql)}`)
      refused(await peer.exec(sql), "invalid_argument", `exec ${JSON.stringify(sql)}`)
      refused(await peer.batch(sql), "invalid_argument", `batch ${JSON.stringify(sql)}`)
    }
  })
  .rule("statement.parser", "SQLite's own parser decides where it ends.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(
      peer,
      "CREATE TABLE t(x)",
      "CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET x = ';'; DELETE FROM t WHERE 0; END;",
    )
    same(await stage.rows(peer, `SELECT ';--/*' AS ";", [a;b] FROM (SELECT 1 AS "a;b")`), [[";--/*", 1n]])
  })
  .rule(
    "params.count",
    "Parameters are positional, and their count must match exactly; otherwise `invalid_argument` with both numbers.",
    async (stage) => {
      const peer = await stage.connect()
      const cases: [string, Given[], number, number][] = [
        ["SELECT ?, ?", [1n], 2, 1],
        ["SELECT ?", [1n, 2n], 1, 2],
        ["SELECT 1", [1n], 0, 1],
        ["SELECT :a, :b", [], 2, 0],
      ]
      for (const [sql, params, wants, has] of cases) {
        for (const answer of [peer.query(sql, ...params), peer.exec(sql, ...params), peer.batch([sql, ...params])]) {
          const { message } = refused(await answer, "invalid_argument", sql)
          const found: readonly string[] = message.replace(/^statement \d+: /, "").match(/\d+/g) ?? []
          holds(found.includes(String(wants)) && found.includes(String(has)), `${wants} and ${has}`, message, sql)
        }
      }
    },
  )
  .rule("params.numbered", "`?3` alone needs three.", async (stage) => {
    const peer = await stage.connect()
    refused(await peer.query("SELECT ?3", 1n), "invalid_argument")
    same(await stage.rows(peer, "SELECT ?3", 1n, 2n, 3n), [[3n]])
  })
  .rule("params.named", "Named parameters in SQL (`:a`) are positions by SQLite's numbering.", async (stage) => {
    const peer = await stage.connect()
    same(await stage.rows(peer, "SELECT :b, @a, :b, $c", 1n, 2n, 3n), [[1n, 2n, 1n, 3n]])
  }).rules

export const exec = new Section("exec")
  .rule("exec.end", "Runs one statement to its end, discards any rows, and answers ExecResult.", async (stage) => {
    const peer = await stage.connect()
    same((await peer.exec("SELECT * FROM (VALUES(1),(2),(3))")).kinds, ["execResult"])
    const late = await peer.exec("SELECT abs(column1) FROM (VALUES(1),(2),(-9223372036854775808))")
    same([late.kinds, late.error?.message], [["error"], "integer overflow"], "an error in its last row")
  })
  .rule(
    "exec.rows-affected",
    "`rows_affected` is 0 for anything but INSERT, UPDATE, DELETE and REPLACE.",
    async (stage) => {
      const peer = await stage.connect()
      const cases: [string, bigint][] = [
        ["CREATE TABLE t(id INTEGER PRIMARY KEY, n)", 0n],
        ["INSERT INTO t(n) VALUES(1), (2), (3)", 3n],
        ["SELECT * FROM t", 0n],
        ["UPDATE t SET n = n + 1 WHERE id > 1", 2n],
        ["REPLACE INTO t VALUES(1, 9)", 1n],
        ["PRAGMA user_version = 3", 0n],
        ["DELETE FROM t WHERE id = 1", 1n],
        ["ANALYZE", 0n],
      ]
      for (const [sql, rows] of cases) same(succeeded(await peer.exec(sql), sql).execs[0]?.rowsAffected, rows, sql)
    },
  )
  .rule("exec.never-stale", "It is never a stale count, as after DDL.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(n)", "INSERT INTO t VALUES(1), (2), (3)")
    for (const sql of [
      "CREATE TABLE u(x)",
      "CREATE INDEX i ON t(n)",
      "DROP TABLE u",
      "VACUUM",
      "CREATE TABLE IF NOT EXISTS t(n)",
    ]) {
      const { rowsAffected, lastInsertId } = succeeded(await peer.exec(sql), sql).execs[0] ?? {}
      same([rowsAffected, lastInsertId], [0n, 0n], sql)
    }
  })
  .rule(
    "exec.last-insert-id",
    "`last_insert_id` is what the engine reports after a statement that inserted, and 0 otherwise or where `rows_affected` is 0.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE)")
      const cases: [string, bigint][] = [
        ["INSERT INTO t VALUES(70, 'a')", 70n],
        ["INSERT INTO t(u) VALUES('b'), ('c')", 72n],
        ["INSERT OR IGNORE INTO t(u) VALUES('a')", 0n],
        ["UPDATE t SET u = 'd' WHERE id = 70", 0n],
        ["DELETE FROM t WHERE id = 71", 0n],
        ["REPLACE INTO t VALUES(5, 'e')", 5n],
      ]
      for (const isInside of [false, true]) {
        if (isInside) {
          await stage.setUp(peer, "DELETE FROM t")
          succeeded(await peer.begin())
        }
        for (const [sql, id] of cases) same(succeeded(await peer.exec(sql), sql).execs[0]?.lastInsertId, id, sql)
      }
    },
  )
  .rule("exec.own-id", "Another socket's id never shows as `last_insert_id`.", async (stage) => {
    const [a, b] = await stage.two()
    await stage.setUp(
      a,
      "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE)",
      "CREATE TABLE w(k PRIMARY KEY) WITHOUT ROWID",
    )
    await stage.setUp(a, "INSERT INTO t VALUES(77, 'x')")
    for (const sql of [
      "INSERT INTO t(u) VALUES('x') ON CONFLICT(u) DO UPDATE SET u = 'x'",
      "INSERT OR IGNORE INTO t(u) VALUES('x')",
      "INSERT INTO w VALUES(1)",
    ]) {
      same(succeeded(await b.exec(sql), sql).execs[0]?.lastInsertId, 0n, sql)
    }
  })
  .rule(
    "exec.tip",
    "`tip` is the sequence after the statement; inside a transaction it is the sequence that the transaction began at.",
    async (stage) => {
      const peer = await stage.connect()
      const tip = async (sql: string) => succeeded(await peer.exec(sql), sql).execs[0]?.tip
      same([await tip("CREATE TABLE t(x)"), await tip("INSERT INTO t VALUES(1)"), await tip("SELECT 1")], [1n, 2n, 2n])
      succeeded(await peer.begin())
      same([await tip("INSERT INTO t VALUES(2)"), await tip("DELETE FROM t")], [2n, 2n], "inside")
    },
  )
  .rule(
    "exec.classified",
    "A statement is classified by what it does, not by its first word: `WITH ... INSERT` inserts, `EXPLAIN INSERT` does not.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      const result = async (sql: string) => {
        const { rowsAffected, lastInsertId, tip } = succeeded(await peer.exec(sql), sql).execs[0] ?? {}
        return [rowsAffected, lastInsertId, tip]
      }
      same(await result("WITH v(k) AS (VALUES(1), (2)) INSERT INTO t SELECT k FROM v"), [2n, 2n, 2n])
      same(await result("EXPLAIN INSERT INTO t VALUES(3)"), [0n, 0n, 2n])
      same(await result("/* INSERT */ SELECT 1"), [0n, 0n, 2n])
    },
  ).rules
