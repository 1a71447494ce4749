import { assert } from "../check.ts"
import type { Group } from "../context.ts"
import { onPath, paths, rows } from "../sql.ts"

export const text: Group = {
  name: "text",
  cases: [
    {
      name: "C11 letters fold in ASCII only, and lengths are code points",
      async run(ctx) {
        const db = await ctx.connect()
        const asked =
          "SELECT 'a' LIKE 'A', 'ò' LIKE 'Ò', lower('ÀB'), upper('straße'), 'É'='é' COLLATE NOCASE, length('👩‍🚀'), length('e'||char(769))"
        const expected = [1, 0, "Àb", "STRAßE", 0, 3, 2]
        assert.deepEqual(await rows(db, asked), [expected])
        assert.deepEqual(await db.transaction((tx) => rows(tx, asked)), [expected])
        // The same values as parameters.
        const params = ["ò", "Ò", "ÀB", "straße", "👩‍🚀", "e\u0301"]
        const bound = "SELECT ?1 LIKE ?2, lower(?3), upper(?4), length(?5), length(?6)"
        assert.deepEqual(await rows(db, bound, params), [[0, "Àb", "STRAßE", 3, 2]])
        // NFC and NFD are two texts, in a unique column too.
        await db.exec("CREATE TABLE n(s TEXT UNIQUE COLLATE NOCASE)")
        await db.exec("INSERT INTO n VALUES (?), (?)", ["é", "e\u0301"])
        assert.deepEqual(await rows(db, "SELECT count(*) FROM n"), [[2]])
      },
    },
    {
      name: "C09 U+0000, a BOM, lone surrogates and the last code point pass on every path, as values and as names",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(s)")
        const given = [
          "\u0000",
          "\u0000\u0000",
          "a\u0000",
          "\u0000b",
          "\ufeff",
          "\ufeffa",
          "\u{10ffff}",
          "\ufffe",
          "\r\n\t",
        ]
        for (const path of paths) {
          for (const value of given) await onPath(db, path, "INSERT INTO t VALUES(?)", [value])
          const back = await rows(db, "DELETE FROM t RETURNING s")
          assert.deepEqual(
            back,
            given.map((value) => [value]),
            path,
          )
        }
        // A lone surrogate has no UTF-8 form.
        assert.deepEqual(await rows(db, "SELECT ?1, hex(?1)", ["\ud800"]), [["\ufffd", "EFBFBD"]])
        const [row] = await db.query('SELECT 1 AS "a😀", 2 AS "\ufeff"').all()
        assert.deepEqual(Object.entries(row ?? {}), [
          ["a😀", 1],
          ["\ufeff", 2],
        ])
      },
    },
  ],
}
