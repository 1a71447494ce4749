import { type Param, real, type Value } from "agentdb-web/client"
import { assert, fails, failure, failures } from "../check.ts"
import type { Group } from "../context.ts"
import { list, oneRow, onPath, paths, rows } from "../sql.ts"

const bytes = (...values: number[]) => new Uint8Array(values)
const maxInt = 2n ** 63n - 1n
const minInt = -(2n ** 63n)

/** A parameter, what `SELECT ?` gives for it, and its class. */
const echoes: [given: Param, back: Value, type: string][] = [
  [null, null, "null"],
  [Number.NaN, null, "null"],
  [real(Number.NaN), null, "null"],
  [true, 1, "integer"],
  [false, 0, "integer"],
  [0, 0, "integer"],
  [-0, -0, "real"],
  [42, 42, "integer"],
  [-42, -42, "integer"],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, "integer"],
  [Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, "integer"],
  [2 ** 53, 2 ** 53, "real"],
  [1e308, 1e308, "real"],
  [5e-324, 5e-324, "real"],
  [2.5, 2.5, "real"],
  [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, "real"],
  [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, "real"],
  [real(2), 2, "real"],
  [42n, 42, "integer"],
  [2n ** 53n, 2n ** 53n, "integer"],
  [-(2n ** 53n), -(2n ** 53n), "integer"],
  [maxInt, maxInt, "integer"],
  [minInt, minInt, "integer"],
  ["", "", "text"],
  ["text", "text", "text"],
  ["a\u0000b", "a\u0000b", "text"],
  ["\u0000", "\u0000", "text"],
  ["\ufeffé😀\u{10ffff}", "\ufeffé😀\u{10ffff}", "text"],
  ["x".repeat(70_000), "x".repeat(70_000), "text"],
  [bytes(), bytes(), "blob"],
  [bytes(0, 255), bytes(0, 255), "blob"],
  [bytes(1, 2).buffer, bytes(1, 2), "blob"],
]

const unbindable: [string, unknown][] = [
  ["undefined", undefined],
  ["a Date", new Date(0)],
  ["an object", { a: 1 }],
  ["an array", [1]],
  ["a Map", new Map()],
  ["a function", () => 1],
  ["a symbol", Symbol("s")],
]

/** Shared memory, also where its constructor is hidden. */
function sharedBytes(...values: number[]): Uint8Array<SharedArrayBuffer> {
  const { buffer } = new WebAssembly.Memory({ shared: true, initial: 1, maximum: 1 })
  const view = new Uint8Array(buffer as unknown as SharedArrayBuffer)
  view.set(values)
  return view
}

export const values: Group = {
  name: "values",
  cases: [
    {
      name: "every class of value comes back as it was given",
      async run(ctx) {
        const db = await ctx.connect()
        const all = await Promise.all(echoes.map(([given]) => rows(db, "SELECT ?1, typeof(?1)", [given])))
        all.forEach((got, i) => {
          const [given, back, type] = echoes[i] as (typeof echoes)[number]
          assert.deepEqual(got, [[back, type]], `${typeof given} ${String(given).slice(0, 40)}`)
          assert.strictEqual(Object.is(got[0]?.[0], -0), Object.is(back, -0))
        })
      },
    },
    {
      name: "C04 a whole number is INTEGER and real() forces REAL, on every path",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE r(v, t)")
        const asked = "SELECT 7/?1, typeof(?1)"
        for (const [param, expected] of [
          [2, [3, "integer"]],
          [real(2), [3.5, "real"]],
          [2n, [3, "integer"]],
          [2.5, [2.8, "real"]],
        ] as const) {
          await db.exec(`INSERT INTO r ${asked}`, [param])
          const { results } = await db.batch([{ sql: `${asked} AS t`, params: [param] }])
          const [result] = results
          assert.ok(result && "rows" in result)
          const seen = [
            await rows(db, "DELETE FROM r RETURNING v, t"),
            await rows(db, asked, [param]),
            result.rows.map((row) => Object.values(row)),
            await db.transaction((tx) => rows(tx, asked, [param])),
          ]
          assert.deepEqual(seen, [[[...expected]], [[...expected]], [[...expected]], [[...expected]]])
        }
      },
    },
    {
      name: "C04 -0 stored is -0 only where the column has no affinity",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(a REAL, b, c INTEGER)")
        await db.exec("INSERT INTO t VALUES (?1, ?1, ?1)", [-0])
        const [row] = await rows(db, "SELECT a, typeof(a), b, typeof(b), c, typeof(c) FROM t")
        assert.deepEqual(row, [0, "real", -0, "real", 0, "integer"])
      },
    },
    {
      name: "C02 an empty blob is neither NULL nor empty text",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE b(v BLOB NOT NULL)")
        await db.exec("INSERT INTO b VALUES(?1)", [bytes()])
        const [row] = await rows(db, "SELECT typeof(v), length(v), v IS NULL, v FROM b")
        assert.deepEqual(row, ["blob", 0, 0, bytes()])
        await fails(db.exec("INSERT INTO b VALUES(?1)", [null]), "SQLITE_CONSTRAINT_NOTNULL")
        assert.deepEqual(await list(db, "VALUES (NULL), (x''), ('')"), [null, bytes(), ""])
      },
    },
    {
      name: "C06 a view binds its own bytes, copied at the call, and is never detached",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE v(n, v)")
        const whole = bytes(97, 98, 99, 100)
        const shared = sharedBytes(97, 98, 99, 100)
        const given: [Param, string][] = [
          [whole.subarray(1, 3), "6263"],
          [whole.buffer, "61626364"],
          [new DataView(whole.buffer, 1), "626364"],
          [new Uint16Array(whole.buffer, 2), "6364"],
          [new Uint8ClampedArray(whole.buffer, 0, 1), "61"],
          [shared.subarray(1, 3), "6263"],
        ]
        const written = given.map(([param], n) => db.exec("INSERT INTO v VALUES(?, ?)", [n, param]))
        const read = given.map(([param]) => db.query("SELECT hex(?1)", [param], { rowMode: "array" }))
        const inBatch = db.batch(given.map(([param]) => ({ sql: "SELECT hex(?1) AS h", params: [param] })))
        // Nothing was awaited yet, and the streams have not even been sent.
        whole.fill(0)
        shared.fill(0)
        await Promise.all(written)
        const expected = given.map(([, hex]) => hex)
        assert.deepEqual(await list(db, "SELECT hex(v) FROM v ORDER BY n"), expected)
        assert.deepEqual(
          await Promise.all(read.map((stream) => stream.first())),
          expected.map((hex) => [hex]),
        )
        const { results } = await inBatch
        assert.deepEqual(
          results.map((result) => "rows" in result && result.rows[0]?.["h"]),
          expected,
        )
        assert.strictEqual(whole.byteLength, 4)
        assert.strictEqual(shared.length, 65_536)
        const [all] = await list(db, "SELECT length(?)", [shared.buffer])
        assert.strictEqual(all, 65_536)
      },
    },
    {
      name: "C09 text with U+0000 passes whole on every path",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(s)")
        const text = "a\u0000b"
        for (const path of paths) {
          await onPath(db, path, "INSERT INTO t VALUES(?)", [text])
          const read = "SELECT s, hex(s), length(s), octet_length(s), length(CAST(s AS BLOB)), instr(s,'b') FROM t"
          assert.deepEqual(await rows(db, read), [[text, "610062", 1, 3, 3, 3]], path)
          const [again] = await list(db, "SELECT s FROM t")
          await onPath(db, path, "UPDATE t SET s = ?", [again as string])
          assert.deepEqual(await list(db, "DELETE FROM t RETURNING hex(s)"), ["610062"], path)
        }
      },
    },
    {
      name: "C49 42 and 42n store the same integer",
      async run(ctx) {
        const db = await ctx.connect()
        await db.exec("CREATE TABLE t(v)")
        await db.exec("INSERT INTO t VALUES (?), (?)", [42, 42n])
        assert.deepEqual(await rows(db, "SELECT v, typeof(v), count(*) FROM t GROUP BY v"), [[42, "integer", 2]])
      },
    },
    {
      name: "what cannot be bound is a TypeError that names the position, and nothing is sent",
      async run(ctx) {
        const db = await ctx.connect()
        const tx = await db.begin()
        const before = ctx.sent(db).length
        for (const [name, value] of unbindable) {
          const params = [1, value as never]
          const calls = [
            db.exec("SELECT ?, ?", params),
            db.query("SELECT ?, ?", params).all(),
            db.query("SELECT ?, ?", params).columns(),
            db.batch(["SELECT 1", { sql: "SELECT ?, ?", params }]),
            tx.exec("SELECT ?, ?", params),
            tx.query("SELECT ?, ?", params).first(),
            tx.batch([{ sql: "SELECT ?, ?", params }]),
          ]
          for (const error of await failures(calls, name)) {
            assert.instanceOf(error, TypeError, name)
            assert.include(error.message, "parameter 2", name)
          }
        }
        for (const value of [2n ** 63n, -(2n ** 63n) - 1n]) {
          const calls = [
            db.exec("SELECT ?, ?", [1, value]),
            db.query("SELECT ?, ?", [1, value]).all(),
            db.batch([{ sql: "SELECT ?, ?", params: [1, value] }]),
            tx.exec("SELECT ?, ?", [1, value]),
          ]
          for (const error of await failures(calls)) {
            assert.instanceOf(error, RangeError)
            assert.include(error.message, "parameter 2")
          }
        }
        assert.strictEqual(ctx.sent(db).length, before)
        await tx.rollback()
        assert.deepEqual(await list(db, "SELECT 1"), [1])
      },
    },
    {
      name: "C56 parameters are positional, and their count must match exactly",
      async run(ctx) {
        const db = await ctx.connect()
        const tx = await db.begin()
        const before = ctx.sent(db).length
        const named: object[] = [{ a: 1 }, { a: 1, b: 2, x: 3 }, { ":a": 1, ":b": 2 }, {}, new Map([["a", 1]])]
        for (const params of named as never[]) {
          const calls = [
            db.exec("SELECT :a, :b", params),
            db.query("SELECT :a, :b", params).all(),
            db.batch([{ sql: "SELECT :a, :b", params }]),
            tx.exec("SELECT :a, :b", params),
          ]
          for (const error of await failures(calls)) assert.instanceOf(error, TypeError)
        }
        assert.strictEqual(ctx.sent(db).length, before)
        await tx.rollback()

        assert.deepEqual(await rows(db, "SELECT :b, :a, :b", [1, 2]), [[1, 2, 1]])
        assert.deepEqual(await rows(db, "SELECT ?1, ?3", [1, 2, 3]), [[1, 3]])
        assert.deepEqual(await rows(db, "SELECT ?5", [1, 2, 3, 4, 5]), [[5]])
        for (const [sql, params, needed] of [
          ["SELECT ?, ?", [1], 2],
          ["SELECT ?", [1, 2], 1],
          ["SELECT ?1, ?3", [1, 2], 3],
          ["SELECT :a, :b", [1], 2],
          ["SELECT 1", [1], 0],
          ["SELECT ?", [], 1],
          ["SELECT ?", undefined, 1],
        ] as const) {
          for (const path of paths) {
            const error = await fails(onPath(db, path, sql, params), "invalid_argument", "", `${path}: ${sql}`)
            assert.match(error.message, new RegExp(`\\b${needed}\\b`), sql)
            assert.match(error.message, new RegExp(`\\b${params?.length ?? 0}\\b`), sql)
          }
        }
      },
    },
    {
      name: "integers: auto never rounds, bigint is always one, number throws",
      async run(ctx) {
        const db = await ctx.connect()
        const safe = BigInt(Number.MAX_SAFE_INTEGER)
        const sql = `VALUES (0), (-1), (${safe}), (-${safe}), (${safe + 1n}), (-${safe + 1n}), (${maxInt}), (${minInt})`
        const exact = [0n, -1n, safe, -safe, safe + 1n, -safe - 1n, maxInt, minInt]
        const auto = exact.map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value))
        const read = async (o: { integers?: "auto" | "bigint" | "number" }, text = sql) =>
          (await db.query(text, [], { ...o, rowMode: "array" }).all()).map(([value]) => value)
        assert.deepEqual(await read({}), auto)
        assert.deepEqual(await read({ integers: "auto" }), auto)
        assert.deepEqual(await read({ integers: "bigint" }), exact)
        assert.instanceOf(await failure(read({ integers: "number" })), RangeError)
        assert.deepEqual(await read({ integers: "number" }, "VALUES (7), (2.5), ('x'), (NULL)"), [7, 2.5, "x", null])
        assert.deepEqual(await read({ integers: "bigint" }, "VALUES (7), (2.5), ('x'), (NULL)"), [7n, 2.5, "x", null])
        for await (const { columns } of db.query(sql, [], { integers: "bigint" }).batches()) {
          assert.deepEqual(columns[0]?.values(), exact)
          assert.deepEqual([...(columns[0]?.ints() ?? [])], exact)
        }
        assert.deepEqual(await list(db, "SELECT 1"), [1])
      },
    },
    {
      name: "text that is not UTF-8 is replaced, or refused when asked to be strict",
      async run(ctx) {
        const db = await ctx.connect()
        const sql = "SELECT CAST(x'41ff42' AS TEXT) AS s, 'é' AS t"
        assert.deepEqual(await db.query(sql).all(), [{ s: "A\ufffdB", t: "é" }])
        assert.deepEqual(await db.query(sql, [], { text: "replace" }).all(), [{ s: "A\ufffdB", t: "é" }])
        await fails(db.query(sql, [], { text: "strict" }).all(), "invalid_response", "UTF-8")
        assert.deepEqual(await db.query("SELECT 'é' || char(0) AS t", [], { text: "strict" }).all(), [{ t: "é\u0000" }])
        assert.deepEqual(await list(db, "SELECT 1"), [1])
      },
    },
    {
      name: "C07 one column of mixed classes, in one batch and in batches of one row, as rows and as columns",
      limits: oneRow,
      async run(ctx) {
        const db = await ctx.connect()
        const sql =
          "VALUES (1), (1e308), ('a😀b'), (x'00FF'), (NULL), (9007199254740993), (''), (x''), (-1.5), (x'0102')"
        const expected = [1, 1e308, "a😀b", bytes(0, 255), null, 9007199254740993n, "", bytes(), -1.5, bytes(1, 2)]
        assert.deepEqual(await list(db, sql), expected)
        const types: number[] = []
        const ints: bigint[] = []
        const doubles: number[] = []
        const values: Value[] = []
        let count = 0
        for await (const { rows, columns } of db.query(sql).batches()) {
          const [column] = columns
          assert.ok(column)
          for (let row = 0; row < rows; row++) types.push(column.type(row))
          ints.push(...column.ints())
          doubles.push(...column.doubles())
          values.push(...column.values())
          count++
        }
        assert.strictEqual(count, 10)
        assert.deepEqual(types, [1, 2, 3, 4, 0, 1, 3, 4, 2, 4])
        assert.deepEqual(ints, [1n, 9007199254740993n])
        assert.deepEqual(doubles, [1e308, -1.5])
        assert.deepEqual(values, expected)
      },
    },
    {
      name: "blobs are their own: neither the frame's nor each other's",
      async run(ctx) {
        const db = await ctx.connect()
        const blobs = (await list(db, "VALUES (x'0102'), (x'0304'), (x'0506')")) as Uint8Array[]
        for (const blob of blobs) assert.strictEqual(blob.buffer.byteLength, 2)
        blobs[0]?.fill(9)
        assert.deepEqual(blobs, [bytes(9, 9), bytes(3, 4), bytes(5, 6)])
      },
    },
    {
      name: "C13 no value disappears among equal names, and __proto__ is a name like any other",
      async run(ctx) {
        const db = await ctx.connect()
        await db.batch(["CREATE TABLE a(id, val)", "CREATE TABLE b(id, val)"])
        await db.batch(["INSERT INTO a VALUES(1,'A')", "INSERT INTO b VALUES(1,'B')"])
        const join = "SELECT * FROM a JOIN b ON a.id = b.id"
        assert.deepEqual(await db.query(join).columns(), ["id", "val", "id", "val"])
        assert.deepEqual(await rows(db, join), [[1, "A", 1, "B"]])
        const [row] = await db.query(join).all()
        assert.deepEqual(Object.entries(row ?? {}), [
          ["id", 1],
          ["val", "A"],
          ["id:1", 1],
          ["val:1", "B"],
        ])
        const taken = await db.query('SELECT 1 AS n, 2 AS "n:1", 3 AS n, 4 AS n').all()
        assert.strictEqual(new Set(Object.values(taken[0] ?? {})).size, 4)

        const odd = 'SELECT 1 AS "__proto__", 2 AS "constructor", 3 AS "__proto__", 4 AS "", 5 AS "toString"'
        const fromBatch = (await db.batch([odd])).results[0]
        assert.ok(fromBatch && "rows" in fromBatch)
        for (const object of [...(await db.query(odd).all()), ...fromBatch.rows]) {
          assert.deepEqual(Object.keys(object), ["__proto__", "constructor", "__proto__:1", "", "toString"])
          assert.deepEqual(Object.values(object), [1, 2, 3, 4, 5])
          assert.strictEqual(Object.getPrototypeOf(object), Object.prototype)
        }
        assert.strictEqual(({} as { constructor: unknown }).constructor, Object)
      },
    },
    {
      name: "a row object is plain, also where its names are numbers",
      async run(ctx) {
        const db = await ctx.connect()
        const [row] = await db.query('SELECT 1 AS b, 2 AS a, 3 AS "1"').all()
        assert.deepEqual(row, { b: 1, a: 2, "1": 3 })
        assert.deepEqual(await rows(db, 'SELECT 1 AS b, 2 AS a, 3 AS "1"'), [[1, 2, 3]])
        assert.strictEqual(
          JSON.stringify(await db.query("SELECT 1 AS a, NULL AS b, 'c' AS c").all()),
          '[{"a":1,"b":null,"c":"c"}]',
        )
      },
    },
  ],
}
