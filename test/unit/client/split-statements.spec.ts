import { expect, test } from "@playwright/test"
import sqlite3InitModule from "@sqlite.org/sqlite-wasm"
import fc from "fast-check"
import { splitStatements } from "../../../src/client/index.ts"

const pieces = [
  "SELECT 1",
  "SELECT 1 -- end; really",
  "-- only; a comment\nSELECT 2",
  "/* a; b */ SELECT /* c; */ 3",
  "SELECT ';--/*'",
  "SELECT 'it''s; fine', \"a;b\", `c;d`, [e;f] FROM (SELECT 1 AS \"a;b\", 2 AS [c;d], 3 AS `e;f`, 4)",
  'SELECT "x""; y" FROM (SELECT 1 AS "x""; y")',
  "SELECT CASE WHEN 1 THEN 2 ELSE 3 END",
  "SELECT $a::b(c;d), :e, @f, ?5",
  "SELECT 5/2, 5 - -2, 1->>'$'",
  "CREATE TABLE t(a, b TEXT DEFAULT ';')",
  "CREATE TABLE IF NOT EXISTS t(a, b)",
  "CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT 1; END",
  "create temp trigger if not exists tr2 after insert on t begin update t set a = case when 1 then 2 end; select ';end;'; end",
  "CREATE TRIGGER begin BEFORE UPDATE ON t WHEN CASE new.a WHEN 1 THEN 1 ELSE 0 END BEGIN DELETE FROM t; /* ; */ INSERT INTO t VALUES(1, CASE 1 WHEN 1 THEN 2 END);\n-- x\nEND",
  "EXPLAIN CREATE TRIGGER tr3 AFTER DELETE ON t BEGIN SELECT CASE WHEN 1 THEN 1 END; END",
  "EXPLAIN QUERY PLAN SELECT 1",
  "CREATE /* ; */ TEMPORARY -- ;\n TRIGGER tr4 INSTEAD OF INSERT ON v BEGIN SELECT 1; SELECT 2; END",
  "CREATE VIEW v AS SELECT 1 AS trigger, 2 AS begin",
  "BEGIN",
  "END",
  "COMMIT",
  "SAVEPOINT begin",
  'CREATE TABLE trigger_log(x, begin, "end")',
  "INSERT INTO t VALUES (1, 'BEGIN'), (2, 'END;')",
  "SELECT é, \u{1f600} FROM (SELECT 1 AS é, 2 AS \u{1f600})",
  "\ufeffSELECT 6",
  "SELECT x'3b', 1e5, .5, 0x3b",
  "PRAGMA user_version = 3",
]

const glue = [";", ";\n", " ; ", ";;", ";--;\n", ";/*;*/", "; -- it's\n", ";\r\n\t"]
const tails = ["", ";", " -- open", "/* open ; ", ";\n-- c", "; \n"]

test("by hand", () => {
  expect(splitStatements("")).toEqual([])
  expect(splitStatements(" ;; -- c\n ; /* x */ ")).toEqual([])
  expect(splitStatements("SELECT 1; SELECT 2")).toEqual(["SELECT 1", "SELECT 2"])
  expect(splitStatements("SELECT 1;\n-- about two\nSELECT 2 ;")).toEqual(["SELECT 1", "SELECT 2"])
  expect(splitStatements("SELECT 1 /* open")).toEqual(["SELECT 1"])
  expect(splitStatements("-- a\nSELECT /* b */ 1 -- c")).toEqual(["SELECT /* b */ 1"])
  expect(splitStatements("SELECT 'open; ")).toEqual(["SELECT 'open; "])
  const trigger = "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; DELETE FROM t; END"
  expect(splitStatements(`${trigger}; SELECT 1`)).toEqual([trigger, "SELECT 1"])
})

test("a large script takes time in proportion", () => {
  const one = `INSERT INTO t VALUES ('${"x".repeat(1_000_000)}')`
  expect(splitStatements(`${one};${one};/*${"y".repeat(1_000_000)}*/`)).toEqual([one, one])
  expect(splitStatements("SELECT 1;".repeat(50_000))).toHaveLength(50_000)
})

test("agrees with the engine's own tail pointer", async () => {
  const sqlite3 = await sqlite3InitModule()
  const { capi, wasm } = sqlite3
  const db = new sqlite3.oo1.DB(":memory:")
  // What the pieces name, so that they can be prepared.
  db.exec("CREATE TABLE t(a, b); CREATE TABLE base(x); CREATE VIEW v0 AS SELECT 1 AS x")

  /** Where each statement ends, as SQLite's parser says; undefined if one of them can't be prepared. */
  function byEngine(script: string): string[] | undefined {
    const scope = wasm.scopedAllocPush()
    try {
      const bytes = new TextEncoder().encode(`${script}\0`)
      const start = wasm.scopedAlloc(bytes.length)
      wasm.heap8u().set(bytes, Number(start))
      const ppStmt = wasm.scopedAlloc(8)
      const ppTail = wasm.scopedAlloc(8)
      const out: string[] = []
      const end = Number(start) + bytes.length - 1
      for (let at = Number(start); at < end; ) {
        const rc = capi.sqlite3_prepare_v3(db.pointer as never, at as never, -1, 0, ppStmt as never, ppTail as never)
        const tail = Number(wasm.peekPtr(ppTail))
        if (rc !== 0) return undefined
        const stmt = wasm.peekPtr(ppStmt)
        if (stmt) {
          capi.sqlite3_finalize(stmt as never)
          out.push(
            new TextDecoder("utf-8", { ignoreBOM: true }).decode(
              bytes.subarray(at - Number(start), tail - Number(start)),
            ),
          )
        }
        at = tail
      }
      return out
    } finally {
      wasm.scopedAllocPop(scope)
    }
  }

  const script = fc
    .tuple(
      fc.array(fc.tuple(fc.constantFrom(...pieces), fc.constantFrom(...glue)), { maxLength: 6 }),
      fc.constantFrom(...pieces),
      fc.constantFrom(...tails),
    )
    .map(([list, last, tail]) => `${list.map(([piece, joint]) => piece + joint).join("")}${last}${tail}`)
  let compared = 0
  fc.assert(
    fc.property(script, (text) => {
      const expected = byEngine(text)
      if (!expected) return
      compared++
      const split = splitStatements(text)
      // Nothing is missing from a piece, and nothing is in it that is a statement of its own.
      const agrees =
        split.length === expected.length &&
        split.every((piece, i) => expected[i]?.includes(piece) && byEngine(piece)?.join() === piece) &&
        expected.every((whole, i) => splitStatements(whole).join() === split[i])
      if (!agrees) throw new Error(`${JSON.stringify(split)} where the engine has ${JSON.stringify(expected)}`)
    }),
    { numRuns: 600 },
  )
  // A comparison that never happens proves nothing.
  expect(compared).toBeGreaterThan(100)
  const singles = pieces.filter((piece) => byEngine(`${piece};`) !== undefined)
  console.log(`${singles.length} of ${pieces.length} pieces can be prepared, ${compared} scripts compared`)
  for (const piece of singles) expect(splitStatements(`${piece}\n;${piece}\n`), piece).toHaveLength(2)
  db.close()
})
