import { real, splitStatements, sql } from "agentdb-web/client"
import { assert, fails } from "../check.ts"
import type { Group } from "../context.ts"
import { list, rows } from "../sql.ts"

const script = `
-- A schema, as a migration has it; with a trap in the comment.
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT DEFAULT ';', state TEXT);
CREATE TABLE history(item, was, /* ; */ now);
CREATE TRIGGER tracks AFTER UPDATE ON item WHEN CASE WHEN old.state IS new.state THEN 0 ELSE 1 END BEGIN
  INSERT INTO history VALUES (new.id, CASE old.state WHEN 'a;' THEN 'A' ELSE old.state END, new.state);
  UPDATE item SET name = name || ';' WHERE id = new.id; -- END;
END;;
INSERT INTO item VALUES (1, 'it''s; "fine"', 'a;'), (2, 'two', NULL);
UPDATE item SET state = 'b' WHERE id = 1
`

export const templates: Group = {
  name: "sql and splitStatements",
  cases: [
    {
      name: "values become parameters, whatever they are",
      async run(ctx) {
        const db = await ctx.connect()
        const evil = "'; DROP TABLE t; --"
        const statement = sql`SELECT ${evil} AS a, ${1} + ${2n} AS b, ${null} AS c, ${new Uint8Array([1])} AS d, typeof(${real(2)}) AS e`
        assert.deepEqual(Object.keys(statement), ["sql", "params"])
        assert.notInclude(statement.sql, "DROP")
        assert.deepEqual(await db.query(statement).all(), [
          { a: evil, b: 3, c: null, d: new Uint8Array([1]), e: "real" },
        ])
        // A digit behind a placeholder would number it, and bind another value unseen.
        await fails(db.query(sql`SELECT ${7} AS a, ${8}1 AS b`).all(), "SQLITE_ERROR", "syntax error")
      },
    },
    {
      name: "id quotes any name",
      async run(ctx) {
        const db = await ctx.connect()
        for (const name of ["t", 'a"b', "a'b", "select", "a.b", "a b", "", "日本語", "[x]", "`", "-- x", "9"]) {
          await db.exec(sql`CREATE TABLE ${sql.id(name)} (${sql.id(`c ${name}`)})`)
          await db.exec(sql`INSERT INTO ${sql.id("main", name)} VALUES (${name})`)
          assert.deepEqual(await db.query(sql`SELECT * FROM ${sql.id(name)}`).all(), [{ [`c ${name}`]: name }])
          assert.deepEqual(await db.query(sql`SELECT ${sql.id(name, `c ${name}`)} AS v FROM ${sql.id(name)}`).first(), {
            v: name,
          })
        }
        assert.deepEqual(await list(db, "SELECT count(*) FROM sqlite_schema"), [12])
        assert.throws(() => sql.id("a\u0000b"), TypeError)
      },
    },
    {
      name: "list joins parameters and statements, and an empty one is empty",
      async run(ctx) {
        const db = await ctx.connect()
        await db.batch([
          "CREATE TABLE t(id, v)",
          sql`INSERT INTO t VALUES ${sql.list([1, 2, 3].map((n) => sql`(${n}, ${`v${n}`})`))}`,
        ])
        const inIds = (ids: number[]) => db.query(sql`SELECT v FROM t WHERE id IN (${sql.list(ids)}) ORDER BY id`).all()
        assert.deepEqual(await inIds([3, 1]), [{ v: "v1" }, { v: "v3" }])
        assert.deepEqual(await inIds([]), [])
        assert.deepEqual(await inIds([2]), [{ v: "v2" }])
        const names = sql.list(["id", "v"].map((name) => sql.id(name)))
        assert.deepEqual(await db.query(sql`SELECT ${names} FROM t WHERE id = ${1}`).all(), [{ id: 1, v: "v1" }])
        const none = await db
          .query(sql`SELECT count(*) AS n FROM t WHERE id NOT IN (${sql.list(new Set<number>())})`)
          .first()
        assert.deepEqual(none, { n: 3 })
      },
    },
    {
      name: "statements nest with their parameters in place",
      async run(ctx) {
        const db = await ctx.connect()
        await db.batch(["CREATE TABLE t(a, b)", "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'x')"])
        const only = (b: string) => sql`b = ${b}`
        const where = [only("x"), sql`a > ${1}`].reduce((all, next) => sql`${all} AND ${next}`)
        const page = sql`LIMIT ${10} OFFSET ${0}`
        const asked = sql`SELECT a FROM t WHERE ${where} ORDER BY a ${page}`
        assert.deepEqual(asked.params, ["x", 1, 10, 0])
        assert.deepEqual(await db.query(asked).all(), [{ a: 3 }])
        const { results } = await db.batch([asked, sql`DELETE FROM t WHERE ${only("x")}`])
        assert.deepEqual(results[0], { columns: ["a"], rows: [{ a: 3 }] })
        assert.deepEqual(await list(db, "SELECT a FROM t"), [2])
      },
    },
    {
      name: "the pieces of a script run one by one and as a batch",
      async run(ctx) {
        const db = await ctx.connect()
        const pieces = splitStatements(script)
        assert.strictEqual(pieces.length, 5)
        for (const piece of pieces) await db.exec(piece)
        const check = async () => {
          assert.deepEqual(await rows(db, "SELECT * FROM history"), [[1, "A", "b"]])
          assert.deepEqual(await list(db, "SELECT name FROM item ORDER BY id"), [`it's; "fine";`, "two"])
        }
        await check()
        await db.batch(["DROP TABLE item", "DROP TABLE history", ...pieces])
        await check()
      },
    },
  ],
}
