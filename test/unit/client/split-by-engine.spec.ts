import { expect, test } from "@playwright/test"
import { splitStatements } from "../../../src/client/index.ts"
import type { Connection } from "../../../src/sqlite/connection.ts"
import { Database } from "../../../src/sqlite/database.ts"
import type { Engine } from "../../../src/sqlite/engine.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { attributes, databaseId, project, startEngine } from "../../fixtures/engine.ts"
import { Random } from "../../fixtures/random.ts"
import { isBlank, type Walk, walkTails } from "../../fixtures/tail-walk.ts"

let engine: Engine

test.beforeAll(async () => {
  engine = await startEngine(new MemoryStorage())
})

/** On a fresh database of the one engine. */
async function withWriter(act: (connection: Connection) => void): Promise<void> {
  const database = Database.create(engine, await new MemoryStorage().create(project, databaseId), attributes)
  try {
    act(database.writer)
  } finally {
    database.abandon()
  }
}

/** Fails unless the split of a script agrees with the engine, as far as that one gets. */
function expectAgreement(connection: Connection, script: string): Walk {
  const walk = walkTails(connection, script)
  const { spans, error } = walk
  const split = splitStatements(script)
  const counts = error === undefined ? split.length === spans.length : split.length >= spans.length
  const agrees = counts && spans.every((span, i) => isStatementOf(connection, span, split[i] ?? ""))
  const about = `${JSON.stringify(script)}\nsplit ${JSON.stringify(split)}\nengine ${JSON.stringify(spans)} ${error ?? ""}`
  expect(agrees, about).toBe(true)
  return walk
}

/** True if the engine finds nothing in what the piece leaves of the span, and the piece begins and ends with tokens. */
function isStatementOf(connection: Connection, span: string, piece: string): boolean {
  if (piece === "" || /^[ \t\n\v\f\r]|[ \t\n\v\f\r;]$/.test(piece)) return false
  // A comment before it may hold the same text.
  for (let at = span.indexOf(piece); at >= 0; at = span.indexOf(piece, at + 1)) {
    if (isBlank(connection, span.slice(0, at)) && isBlank(connection, span.slice(at + piece.length))) return true
  }
  return false
}

const handWritten = [
  "",
  ";",
  " ;;; -- c\n ; /* x */ ",
  "\ufeff",
  "\ufeff;\ufeffSELECT 1;\ufeff",
  "SELECT 1",
  "SELECT 1;SELECT 2",
  "SELECT ';'; SELECT \";\"; SELECT 1 AS [;]; SELECT 1 AS `;`",
  "SELECT 'it''s; fine'; SELECT 'a' ';' -- no\n; SELECT 3",
  "SELECT 1 -- ; not\r\n, 2; SELECT 3 -- end",
  "SELECT 1 /* ; ** / * ; */ + 1; SELECT /**/ 2; SELECT 3 /***/; SELECT 4 /* open ; SELECT 5",
  "SELECT 1 /*",
  "SELECT 4 /*/ ; */ ; SELECT 5",
  "SELECT 5-1; SELECT 5 - -1; SELECT 5 --1\n; SELECT 6/2; SELECT 6 / /* ; */ 2",
  "SELECT x'3b', 0x3b, 1e3, .5, 5., 1_000; SELECT 2",
  "SELECT $a, $a::b, $a(;), :b, @c, ?1, #d; SELECT 2",
  "SELECT $x(a b); SELECT 1",
  'CREATE TABLE trigger(begin, "end"); INSERT INTO trigger VALUES(1, 2); SELECT begin, "end" FROM trigger',
  "CREATE TABLE t(a); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END; SELECT 2",
  "CREATE TABLE t(a); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT CASE WHEN 1 THEN 2 END; END; SELECT 2",
  "CREATE TABLE t(a); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT CASE new.a WHEN 1 THEN CASE WHEN 2 THEN 3 END ELSE 4 END; DELETE FROM t; END;",
  "CREATE TABLE t(a); CREATE TRIGGER r UPDATE OF a ON t WHEN CASE WHEN old.a THEN 1 END BEGIN UPDATE t SET a = 1; END; SELECT 2;",
  "CREATE TABLE t(a); create temp trigger if not exists r delete on t for each row begin select 1; end; select 2",
  "CREATE TABLE t(a); CREATE TEMPORARY TRIGGER main.r AFTER INSERT ON t BEGIN SELECT 1; END; SELECT 2",
  'CREATE TABLE t(a); CREATE TRIGGER "begin" AFTER INSERT ON t BEGIN SELECT 1; END; SELECT 2',
  "CREATE TABLE t(a); CREATE TRIGGER [end;] AFTER INSERT ON t BEGIN SELECT 'END;'; -- END;\n SELECT 2 /* END; */; END; SELECT 2",
  "CREATE TABLE t(a); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; SELECT 2;; END; SELECT 3",
  "CREATE TABLE t(a); CREATE/**/TRIGGER--\nr AFTER INSERT ON t BEGIN SELECT 1;END/**/;SELECT 3",
  'CREATE TABLE t(a, "end"); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT "end" FROM t; SELECT [end] FROM t; END; SELECT 3',
  "CREATE VIEW v AS SELECT 1 AS x; CREATE TRIGGER r INSTEAD OF INSERT ON v BEGIN INSERT INTO v VALUES (CASE 1 WHEN 1 THEN 2 END); END; SELECT 3",
  "CREATE TABLE t(a); EXPLAIN CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END; SELECT 2",
  "CREATE TABLE t(a); EXPLAIN QUERY PLAN CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END; SELECT 2",
  "BEGIN; SELECT 1; END; BEGIN IMMEDIATE; COMMIT; BEGIN; ROLLBACK; SAVEPOINT begin; RELEASE begin",
  "EXPLAIN SELECT CASE WHEN 1 THEN 2 END; SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 3",
  "SELECT 1 AS é; SELECT 2 AS \u{1f600}; SELECT 3 AS \u3000; SELECT 4 AS \u00a0x",
  "SELECT\f1\v;\tSELECT\r2",
  "WITH c(x) AS (SELECT 1) INSERT INTO t SELECT x FROM c; SELECT 2",
  "CREATE TABLE t(a); WITH c(x) AS (SELECT 1) INSERT INTO t SELECT x FROM c; SELECT 2",
  "CREATE VIRTUAL TABLE f USING fts5(a, tokenize=\"unicode61 separators ';'\"); INSERT INTO f VALUES('a;b'); SELECT 3",
  "PRAGMA user_version = 3; PRAGMA user_version; VACUUM; ANALYZE; REINDEX",
  "SELECT 1 FROM (SELECT 2; SELECT 3",
  "selec 1; SELECT 2",
  "SELECT 'open; SELECT 2",
  'SELECT "open; SELECT 2',
  "SELECT [open; SELECT 2",
  "SELECT 1;\u00a0SELECT 2",
  "SELECT 1;\u2028SELECT 2",
]

test("agrees with the engine's tail pointer on scripts by hand", async () => {
  for (const script of handWritten) {
    await withWriter((connection) => expectAgreement(connection, script))
  }
})

/** Scripts of statements that the engine takes, with noise between all of their tokens. */
class Scripts {
  readonly #random: Random
  #made = 0

  constructor(seed: number) {
    this.#random = new Random(seed)
  }

  script(): string {
    const parts = ["CREATE TABLE t0(a, b)", ";"]
    for (let n = this.#random.below(6) + 1; n > 0; n--) parts.push(this.#noise(), this.#statement(), this.#noise(), ";")
    if (this.#random.chance(0.3)) parts.pop()
    if (this.#random.chance(0.2)) parts.push(this.#random.pick([" -- open", "/* open ;", "/*", ";;", "\ufeff"]))
    return parts.join("")
  }

  #statement(): string {
    const n = this.#made++
    const name = this.#name(n)
    const { pick } = this
    switch (this.#random.below(10)) {
      case 0:
        return this.#join("CREATE", "TABLE", name, "(", "begin", ",", '"end"', "DEFAULT", "';'", ")")
      case 1:
        return this.#join("INSERT", "INTO", "t0", "VALUES", "(", this.#expression(2), ",", this.#expression(1), ")")
      case 2:
        return this.#join("SELECT", this.#expression(3), "AS", this.#name(n), "FROM", "t0")
      case 3:
        return this.#join("CREATE", "VIEW", name, "AS", "SELECT", this.#expression(2), "AS", "trigger")
      case 4:
        return this.#join(
          "WITH",
          "c",
          "(",
          "x",
          ")",
          "AS",
          "(",
          "SELECT",
          this.#expression(1),
          ")",
          "DELETE",
          "FROM",
          "t0",
        )
      case 5:
        return pick(["BEGIN", "END", "COMMIT", "SAVEPOINT trigger", "PRAGMA user_version=1", "EXPLAIN SELECT 1"])
      default:
        return this.#trigger(name)
    }
  }

  readonly pick = <T>(choices: readonly T[]): T => this.#random.pick(choices)

  #trigger(name: string): string {
    const { pick } = this
    const head = pick([
      "CREATE TRIGGER",
      "create trigger",
      "CREATE TEMP TRIGGER",
      "Create Temporary Trigger",
      "EXPLAIN CREATE TRIGGER",
    ])
    const guard = this.#random.chance(0.4) ? [this.#join("WHEN", this.#expression(3))] : []
    const each = this.#random.chance(0.3) ? ["FOR EACH ROW"] : []
    const exists = this.#random.chance(0.3) ? ["IF NOT EXISTS"] : []
    const when = pick(["AFTER INSERT", "BEFORE UPDATE", "DELETE", "UPDATE OF a, b"])
    const body: string[] = []
    for (let n = this.#random.below(3) + 1; n > 0; n--) {
      body.push(
        pick([
          () => this.#join("SELECT", this.#expression(3)),
          () => this.#join("UPDATE", "t0", "SET", "a", "=", this.#expression(3)),
          () => this.#join("INSERT", "INTO", "t0", "VALUES", "(", this.#expression(2), ",", "1", ")"),
          () => this.#join("DELETE", "FROM", "t0", "WHERE", this.#expression(2)),
        ])(),
        ";",
      )
    }
    const words = head.split(" ")
    return this.#join(
      ...words,
      ...exists,
      name,
      when,
      "ON",
      "t0",
      ...each,
      ...guard,
      pick(["BEGIN", "begin"]),
      ...body,
      pick(["END", "end"]),
    )
  }

  #expression(depth: number): string {
    if (depth === 0 || this.#random.chance(0.2)) {
      return this.pick(["1", "'a;b'", "'it''s END;'", "NULL", "x'3b'", "2.5", "'\"'", "'--'", "'/*'"])
    }
    const inner = () => this.#expression(depth - 1)
    switch (this.#random.below(4)) {
      case 0:
        return this.#join("CASE", "WHEN", inner(), "THEN", inner(), "ELSE", inner(), "END")
      case 1:
        return this.#join("CASE", inner(), "WHEN", inner(), "THEN", inner(), "END")
      case 2:
        return this.#join("(", inner(), this.pick(["+", "-", "/", "*", "||", "->>", "="]), inner(), ")")
      default:
        return this.#join("coalesce", "(", inner(), ",", "(", "SELECT", inner(), ")", ")")
    }
  }

  #name(n: number): string {
    return this.pick([`"n;${n}"`, `[end;${n}]`, `\`b"${n};\``, `n${n}`, `é${n}`, `"CREATE TRIGGER ${n}"`, `'s;${n}'`])
  }

  #join(...tokens: string[]): string {
    return tokens.join("\0").replaceAll("\0", () => this.#noise() || " ")
  }

  #noise(): string {
    if (this.#random.chance(0.6)) return " "
    return this.pick([
      "\n",
      "\t ",
      "/* ; */",
      "-- ;\n",
      "/**/",
      "--\n",
      "\r\n",
      "/* END; */",
      "-- BEGIN 'x\n",
      "/*'*/",
      " \f",
    ])
  }
}

test("agrees with it on generated scripts, triggers with CASE among them", async () => {
  const scripts = new Scripts(1)
  let statements = 0
  let stopped = 0
  let triggers = 0
  for (let n = 0; n < 600; n++) {
    const script = scripts.script()
    await withWriter((connection) => {
      const { spans, error } = expectAgreement(connection, script)
      statements += spans.length
      triggers += spans.filter((span) => /trigger/i.test(span) && /\bend\s*;?\s*$/i.test(span)).length
      if (error !== undefined) stopped++
    })
  }
  console.log(
    `600 scripts: ${statements} statements, ${triggers} triggers, ${stopped} scripts that the engine left early`,
  )
  // A comparison that never happens proves nothing.
  expect(triggers).toBeGreaterThan(300)
  expect(stopped).toBeLessThan(200)
})

test("agrees with it on scripts with a fault, up to where the engine stops", async () => {
  const scripts = new Scripts(2)
  const random = new Random(3)
  let statements = 0
  let stopped = 0
  for (let n = 0; n < 600; n++) {
    const script = scripts.script()
    const at = random.below(script.length)
    const cut = random.chance(0.5) ? 1 : 0
    const put = random.pick([
      "",
      ";",
      "'",
      '"',
      "[",
      "]",
      "`",
      "--",
      "/*",
      "*/",
      " END ",
      "; END;",
      " CASE ",
      "\n",
      "\ufeff",
      "$",
      "(",
    ])
    const broken = script.slice(0, at) + put + script.slice(at + cut)
    await withWriter((connection) => {
      const { spans, error } = expectAgreement(connection, broken)
      statements += spans.length
      if (error !== undefined) stopped++
    })
  }
  console.log(`600 scripts: ${statements} statements, ${stopped} scripts that the engine left early`)
  expect(statements).toBeGreaterThan(1000)
  expect(stopped).toBeGreaterThan(100)
})
