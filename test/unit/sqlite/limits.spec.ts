import { expect, test } from "@playwright/test"
import { execute, failureOf, one, startDatabase } from "../../fixtures/engine.ts"

const repeat = (piece: string, count: number, separator = ""): string => Array(count).fill(piece).join(separator)

test("the limits of the build are errors, and the engine lives on", async () => {
  const { database } = await startDatabase()
  const { writer } = database
  const alive = (): void => expect(one(writer, "SELECT 1")).toBe(1)
  const fails = (sql: string, message: RegExp): void => {
    expect(failureOf(() => execute(writer, sql))?.message).toMatch(message)
    alive()
  }
  expect(one(writer, `SELECT ${repeat("1", 1000, "+")}`)).toBe(1000)
  fails(`SELECT ${repeat("1", 1001, "+")}`, /Expression tree is too large \(maximum depth 1000\)/)
  expect(execute(writer, repeat("SELECT 1", 500, " UNION ALL ")).rows).toHaveLength(500)
  fails(repeat("SELECT 1", 501, " UNION ALL "), /too many terms in compound SELECT/)
  expect(execute(writer, `SELECT ${repeat("1", 2000, ",")}`).columns).toHaveLength(2000)
  fails(`SELECT ${repeat("1", 2001, ",")}`, /too many columns in result set/)
  expect(one(writer, `SELECT ${repeat("(", 900)}1${repeat(")", 900)}`)).toBe(1)
  fails(`SELECT ${repeat("(", 5000)}1${repeat(")", 5000)}`, /Recursion limit|parser stack overflow/)
  const wide = Array(32_766).fill(1)
  expect(one(writer, `SELECT ${repeat("?", 1000, "+")}`, wide.slice(0, 1000))).toBe(1000)
  expect(one(writer, "SELECT ?32766", wide)).toBe(1)
  fails("SELECT ?32767", /variable number must be between \?1 and \?32766/)
  fails(`VALUES ${repeat("(?)", 32_767, ",")}`, /too many SQL variables/)
  execute(writer, `CREATE TABLE columns(${Array.from({ length: 2000 }, (_, i) => `c${i}`)})`)
  fails(`CREATE TABLE more(${Array.from({ length: 2001 }, (_, i) => `c${i}`)})`, /too many columns on more/)
  expect(execute(writer, `VALUES ${repeat("(1)", 5000, ",")}`).rows).toHaveLength(5000)
  const nested = (depth: number): string => repeat("[", depth) + repeat("]", depth)
  expect(one(writer, "SELECT json_valid(?1)", [nested(1000)])).toBe(1)
  expect(one(writer, "SELECT json_valid(?1)", [nested(1001)])).toBe(0)
  fails(`SELECT 'a' LIKE '${repeat("%a", 30_000)}'`, /LIKE or GLOB pattern too complex/)
  expect(one(writer, `SELECT length('${repeat("x", 200_000)}')`)).toBe(200_000)
  alive()
})

test("a hundred stacked views work", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE VIEW v0 AS SELECT 1 AS x")
  for (let i = 1; i <= 100; i++) execute(database.writer, `CREATE VIEW v${i} AS SELECT x FROM v${i - 1}`)
  expect(one(database.writer, "SELECT x FROM v100")).toBe(1)
})

test("a trigger that fires itself ends in an error", async () => {
  const { database } = await startDatabase()
  const { writer } = database
  execute(writer, "CREATE TABLE t(n)")
  execute(writer, "CREATE TRIGGER tr AFTER INSERT ON t WHEN new.n < 2000 BEGIN INSERT INTO t VALUES (new.n + 1); END")
  writer.run("BEGIN IMMEDIATE")
  execute(writer, "PRAGMA recursive_triggers=ON", [], "transaction")
  expect(failureOf(() => execute(writer, "INSERT INTO t VALUES (1)", [], "transaction"))?.message).toMatch(
    /too many levels of trigger recursion|triggers nested too deep/,
  )
  writer.run("ROLLBACK")
  writer.resetLocals()
  expect(one(writer, "SELECT count(*) FROM t")).toBe(0)
})

test("more memory than the limit is an error of the statement", async () => {
  const { startEngine, attributes, databaseId, project } = await import("../../fixtures/engine.ts")
  const { MemoryStorage } = await import("../../../src/storage/memory.ts")
  const { Database } = await import("../../../src/sqlite/database.ts")
  const storage = new MemoryStorage()
  const engine = await startEngine(storage, 32 * 2 ** 20)
  const database = Database.create(engine, await storage.create(project, databaseId), attributes)
  expect(failureOf(() => one(database.writer, "SELECT length(zeroblob(60000000) || 'x')"))?.code).toBe("SQLITE_NOMEM")
  expect(failureOf(() => one(database.writer, "SELECT ?1", [new Uint8Array(60_000_000)]))?.code).toBe("SQLITE_NOMEM")
  expect(one(database.writer, "SELECT 1")).toBe(1)
  database.close()
})
