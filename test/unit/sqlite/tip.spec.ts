import { expect, test } from "@playwright/test"
import { codeOf, execute, reopen, startDatabase } from "../../fixtures/engine.ts"

const counted = [
  "CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE)",
  "INSERT INTO t(x) VALUES (1), (2)",
  "UPDATE t SET x = x",
  "PRAGMA user_version = 5",
  "PRAGMA user_version = 5",
  "CREATE INDEX i ON t(x)",
  "DROP INDEX i",
  "VACUUM",
  "ANALYZE",
  "CREATE VIEW v AS SELECT 1",
]

const notCounted = [
  "UPDATE t SET x = 1 WHERE 0",
  "DELETE FROM t WHERE id = 99",
  "INSERT OR IGNORE INTO t(x) VALUES (1)",
  "CREATE TABLE IF NOT EXISTS t(y)",
  "DROP TABLE IF EXISTS nope",
  "SELECT * FROM t",
  "PRAGMA user_version",
  "EXPLAIN INSERT INTO t(x) VALUES (9)",
]

test("the tip counts each transaction that changed the file, and nothing else", async () => {
  const { engine, storage, database } = await startDatabase()
  const { writer } = database
  let tip = 0
  let heard = 0
  database.onCommit = () => heard++
  for (const sql of counted) {
    execute(writer, sql)
    expect([sql, database.noteCommit(), database.tip]).toEqual([sql, true, ++tip])
  }
  for (const sql of notCounted) {
    execute(writer, sql)
    expect([sql, database.noteCommit(), database.tip]).toEqual([sql, false, tip])
  }
  expect(codeOf(() => execute(writer, "INSERT INTO t(x) VALUES (3), (3)"))).toBe("SQLITE_CONSTRAINT_UNIQUE")
  expect(database.noteCommit()).toBe(false)
  writer.run("BEGIN IMMEDIATE")
  execute(writer, "INSERT INTO t(x) VALUES (10)", [], "transaction")
  execute(writer, "INSERT INTO t(x) VALUES (11)", [], "transaction")
  expect(database.tip).toBe(tip)
  writer.run("ROLLBACK")
  expect(database.tip).toBe(tip)
  writer.run("BEGIN IMMEDIATE")
  writer.run("COMMIT")
  expect(database.tip).toBe(tip)
  writer.run("BEGIN IMMEDIATE")
  execute(writer, "INSERT INTO t(x) VALUES (10)", [], "transaction")
  execute(writer, "INSERT INTO t(x) VALUES (11)", [], "transaction")
  writer.run("COMMIT")
  expect(database.noteCommit()).toBe(true)
  expect(database.tip).toBe(++tip)
  expect(heard).toBe(counted.length + 1)
  database.close()
  expect((await reopen(engine, storage)).tip).toBe(tip)
})

test("the tip survives every mix of checkpoints, closes and crashes", async () => {
  const { engine, storage, database: first } = await startDatabase()
  let database = first
  execute(database.writer, "CREATE TABLE t(x)")
  let tip = 1
  const steps = ["commit", "checkpoint", "close", "commit", "abandon", "checkpoint", "commit", "commit", "abandon"]
  for (let round = 0; round < 40; round++) {
    const step = steps[(round * 5 + Math.floor(round / 7)) % steps.length]
    if (step === "commit") {
      execute(database.writer, "INSERT INTO t VALUES (1)")
      tip++
    } else if (step === "checkpoint") database.checkpoint()
    else {
      if (step === "close") database.close()
      else {
        database.flush()
        database.abandon()
      }
      database = await reopen(engine, storage)
    }
    expect([round, step, database.tip]).toEqual([round, step, tip])
  }
})

test("a WAL shorter than its record is damage", async () => {
  const { engine, storage, database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(x)")
  for (let i = 0; i < 5; i++) execute(database.writer, "INSERT INTO t VALUES (1)")
  const reader = database.takeReader()
  // A passive checkpoint writes the record and leaves the WAL as it is.
  expect(database.checkpoint()).toBe(false)
  database.giveReader(reader)
  database.abandon()
  const files = await storage.open("devkey", "DB_abcdefghijkm")
  // In the last frame but two.
  files.wal.write(Uint8Array.of(0xff), { at: 32 + 4 * 4120 + 100 })
  await expect(reopen(engine, storage)).rejects.toMatchObject({ code: "data_loss" })
})
