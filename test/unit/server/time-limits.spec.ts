import { create } from "@bufbuild/protobuf"
import { expect, test } from "@playwright/test"
import { AgentDB_Wire_StatementSchema as StatementSchema } from "../../../src/gen/livekit_agentdb_pb.ts"
import { prepare } from "../../../src/server/statements.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { resolveLimits } from "../../../src/wire/limits.ts"
import { startDatabase } from "../../fixtures/engine.ts"
import { TestService } from "../../fixtures/service.ts"

const fill = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 150000)
  INSERT INTO t SELECT i, randomblob(40), NULL FROM c`

/** A service over a table that takes long to go through. */
async function start(limits: Parameters<typeof TestService.start>[0]) {
  const storage = new MemoryStorage()
  const first = await TestService.start({}, { storage })
  const peer = await first.connect()
  await peer.batch("CREATE TABLE t(id INTEGER PRIMARY KEY, x, y)", fill)
  await first.service.close()
  const at = await TestService.start(limits, { storage })
  return { peer: await at.connect(first.databaseId), [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

test("CREATE INDEX, VACUUM, REINDEX, ANALYZE and ALTER have the longer limit, and nothing else has", async () => {
  await using db = await start({ statementMs: 5, maintenanceMs: 60_000 })
  const { peer } = db
  for (const sql of [
    "UPDATE t SET x = zeroblob(41)",
    "SELECT sum(length(x)) FROM t",
    "CREATE TABLE u AS SELECT * FROM t",
  ]) {
    expect((await peer.exec(sql)).error?.code, sql).toBe("deadline_exceeded")
  }
  for (const sql of [
    "CREATE INDEX i ON t(x)",
    "REINDEX",
    "REINDEX t",
    "ANALYZE",
    "ALTER TABLE t DROP COLUMN y",
    "VACUUM",
  ]) {
    expect((await peer.exec(sql)).error, sql).toBeUndefined()
  }
  expect((await peer.batch("DROP INDEX i", "CREATE INDEX i ON t(x)")).error).toBeUndefined()
})

test("the longer limit ends a statement too, and nothing of it stays", async () => {
  await using db = await start({ maintenanceMs: 5 })
  const { peer } = db
  for (const sql of ["CREATE INDEX i ON t(x)", "VACUUM", "ALTER TABLE t DROP COLUMN y"]) {
    expect((await peer.exec(sql)).error?.code, sql).toBe("deadline_exceeded")
  }
  const { rows, done } = await peer.query(
    "SELECT name FROM pragma_table_list('t') UNION ALL SELECT name FROM pragma_index_list('t')",
  )
  expect([rows, done?.tip]).toEqual([[["t"]], 1n])
  expect((await peer.exec("DELETE FROM t WHERE id = 1")).execs[0]?.rowsAffected).toBe(1n)
})

test("each statement of a batch has the whole limit, whatever those before it took", async () => {
  const { database } = await startDatabase()
  const limits = resolveLimits({ statementMs: 500, maintenanceMs: 9_000 })
  const run = { ranMs: 1_000, limitMs: 500, stopped: undefined }
  for (const [sql, limitMs] of [
    ["CREATE TABLE t(x)", 1_500],
    ["CREATE INDEX i ON t(x)", 10_000],
    ["SELECT * FROM t", 1_500],
  ] as const) {
    prepare(database.writer, create(StatementSchema, { sql }), "batch", run, limits)
    expect(run.limitMs, sql).toBe(limitMs)
    if (sql.startsWith("CREATE TABLE")) database.writer.run(sql)
  }
  database.close()
})
