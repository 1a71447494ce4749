import fc from "fast-check"
import type { Given } from "../fixtures/wire-peer.ts"

export type Clause = "" | "OR IGNORE" | "OR REPLACE" | "OR FAIL" | "OR ABORT" | "OR ROLLBACK"

/** One statement, as data, so that a model can run it as well. */
export type Op =
  | {
      readonly op: "insert"
      readonly clause: Clause
      readonly rows: readonly [number | null, Given][]
      readonly returning: boolean
    }
  | { readonly op: "upsert"; readonly k: number; readonly v: Given }
  | { readonly op: "update"; readonly lo: number; readonly hi: number; readonly v: Given; readonly returning: boolean }
  | { readonly op: "remove"; readonly lo: number; readonly hi: number; readonly returning: boolean }
  | { readonly op: "create"; readonly ifNotExists: boolean }
  | { readonly op: "drop" | "fill" | "readX" | "vacuum" | "lastRowid" | "readVersion" }
  | { readonly op: "addParent" | "removeParent" | "addChild" | "removeChild"; readonly id: number }
  | { readonly op: "savepoint" | "release" | "rollbackTo"; readonly name: string }
  | { readonly op: "version"; readonly n: number }
  | { readonly op: "select"; readonly lo: number; readonly hi: number }
  | { readonly op: "count"; readonly n: number }
  | { readonly op: "refused"; readonly sql: string }

export const setupSql = [
  "CREATE TABLE t(k INTEGER PRIMARY KEY, v)",
  "CREATE TABLE p(id INTEGER PRIMARY KEY)",
  "CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
]

/** Refused wherever they run, and with what. */
export const refusals: Readonly<Record<string, string>> = {
  "SELEC 1": "SQLITE_ERROR",
  "SELECT * FROM nowhere": "SQLITE_ERROR",
  "SELECT ?": "invalid_argument",
  "": "invalid_argument",
  "-- nothing": "invalid_argument",
  "SELECT 1; SELECT 2": "invalid_argument",
  "INSERT INTO t VALUES(1, 2); COMMIT": "invalid_argument",
  BEGIN: "failed_precondition",
  "COMMIT -- now": "failed_precondition",
  ROLLBACK: "failed_precondition",
  "ATTACH 'x' AS y": "permission_denied",
  "CREATE TEMP TABLE z(a)": "permission_denied",
  "PRAGMA journal_mode = DELETE": "permission_denied",
  "PRAGMA synchronous = OFF": "permission_denied",
}

const ints = (values: readonly number[]): Given[] => values.map(BigInt)

/** The statement on the wire. */
export function sqlOf(op: Op): { sql: string; params: Given[] } {
  const returning = "returning" in op && op.returning ? " RETURNING k, v" : ""
  switch (op.op) {
    case "insert": {
      const places = op.rows.map(() => "(?, ?)").join(", ")
      const params = op.rows.flatMap(([k, v]): Given[] => [k === null ? null : BigInt(k), v])
      return { sql: `INSERT ${op.clause} INTO t(k, v) VALUES ${places}${returning}`, params }
    }
    case "upsert":
      return {
        sql: "INSERT INTO t(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
        params: [BigInt(op.k), op.v],
      }
    case "update":
      return { sql: `UPDATE t SET v = ? WHERE k BETWEEN ? AND ?${returning}`, params: [op.v, ...ints([op.lo, op.hi])] }
    case "remove":
      return { sql: `DELETE FROM t WHERE k BETWEEN ? AND ?${returning}`, params: ints([op.lo, op.hi]) }
    case "create":
      return { sql: `CREATE TABLE ${op.ifNotExists ? "IF NOT EXISTS " : ""}x(a)`, params: [] }
    case "drop":
      return { sql: "DROP TABLE x", params: [] }
    case "fill":
      return { sql: "INSERT INTO x VALUES(7)", params: [] }
    case "readX":
      return { sql: "SELECT rowid, a FROM x", params: [] }
    case "vacuum":
      return { sql: "VACUUM", params: [] }
    case "lastRowid":
      return { sql: "SELECT last_insert_rowid()", params: [] }
    case "addParent":
      return { sql: "INSERT INTO p VALUES(?)", params: ints([op.id]) }
    case "removeParent":
      return { sql: "DELETE FROM p WHERE id = ?", params: ints([op.id]) }
    case "addChild":
      return { sql: "INSERT INTO c(p) VALUES(?)", params: ints([op.id]) }
    case "removeChild":
      return { sql: "DELETE FROM c WHERE p = ?", params: ints([op.id]) }
    case "savepoint":
      return { sql: `SAVEPOINT ${op.name}`, params: [] }
    case "release":
      return { sql: `RELEASE ${op.name}`, params: [] }
    case "rollbackTo":
      return { sql: `ROLLBACK TO ${op.name}`, params: [] }
    case "version":
      return { sql: `PRAGMA user_version = ${op.n}`, params: [] }
    case "readVersion":
      return { sql: "PRAGMA user_version", params: [] }
    case "select":
      return { sql: "SELECT k, v FROM t WHERE k BETWEEN ? AND ? ORDER BY k", params: ints([op.lo, op.hi]) }
    case "count":
      return {
        sql: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?) SELECT i FROM n",
        params: ints([op.n]),
      }
    case "refused":
      return { sql: op.sql, params: [] }
  }
}

/** Whether the statement is a plain read, which needs no write turn. */
export const isRead = ({ op }: Op): boolean =>
  op === "select" || op === "count" || op === "readX" || op === "lastRowid" || op === "readVersion"

const key = fc.nat(9)
const range = fc.tuple(key, key).map(([a, b]) => ({ lo: Math.min(a, b), hi: Math.max(a, b) }))
const cell: fc.Arbitrary<Given> = fc.oneof(
  fc.constant(null),
  fc.integer({ min: -3, max: 300 }).map(BigInt),
  fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n),
  fc.constantFrom(1.5, -0.25, 1e300),
  fc.string({ maxLength: 12 }),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => new Uint8Array(bytes)),
)
const clause = fc.constantFrom<Clause>("", "", "OR IGNORE", "OR REPLACE", "OR FAIL", "OR ABORT", "OR ROLLBACK")
const row = fc.tuple(fc.oneof(key, fc.constant(null)), cell)
const name = fc.constantFrom("a", "b")

const write: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(clause, fc.array(row, { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([clause, rows, returning]) => ({ op: "insert", clause, rows, returning }) as const),
  },
  fc.tuple(key, cell).map(([k, v]) => ({ op: "upsert", k, v }) as const),
  {
    weight: 2,
    arbitrary: fc
      .tuple(range, cell, fc.boolean())
      .map(([at, v, returning]) => ({ op: "update", ...at, v, returning }) as const),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(range, fc.boolean()).map(([at, returning]) => ({ op: "remove", ...at, returning }) as const),
  },
  fc.boolean().map((ifNotExists) => ({ op: "create", ifNotExists }) as const),
  fc.constantFrom<Op[]>({ op: "drop" }, { op: "fill" }, { op: "fill" }),
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom("addParent", "removeParent", "addChild", "removeChild"), fc.nat(2))
      .map(([op, id]) => ({ op, id }) as Op),
  },
  fc.nat(9).map((n) => ({ op: "version", n }) as const),
)

const read: fc.Arbitrary<Op> = fc.oneof(
  { weight: 4, arbitrary: range.map((at) => ({ op: "select", ...at }) as const) },
  { weight: 2, arbitrary: fc.constant({ op: "select", lo: 0, hi: 99 } as const) },
  { weight: 2, arbitrary: fc.nat(40).map((n) => ({ op: "count", n }) as const) },
  fc.constantFrom<Op[]>({ op: "readX" }, { op: "lastRowid" }, { op: "readVersion" }),
)

const savepoint: fc.Arbitrary<Op> = fc
  .tuple(fc.constantFrom("savepoint", "savepoint", "release", "rollbackTo"), name)
  .map(([op, name]) => ({ op, name }) as Op)

const refused: fc.Arbitrary<Op> = fc.constantFrom(...Object.keys(refusals)).map((sql) => ({ op: "refused", sql }))

export const anyOp: fc.Arbitrary<Op> = fc.oneof(
  { weight: 10, arbitrary: write },
  { weight: 6, arbitrary: read },
  { weight: 3, arbitrary: savepoint },
  { weight: 1, arbitrary: refused },
  { weight: 1, arbitrary: fc.constant({ op: "vacuum" } as const) },
)

/** Statements that mostly succeed, for batches: one that fails undoes them all. */
export const batchOp: fc.Arbitrary<Op> = fc.oneof(
  { weight: 10, arbitrary: write },
  { weight: 5, arbitrary: read },
  { weight: 1, arbitrary: anyOp },
)
