import { expect, test } from "@playwright/test"
import { execute, one, query, reopen, startDatabase } from "../../fixtures/engine.ts"

test("a database keeps its rows and its tip across close and open", async () => {
  const { engine, storage, database } = await startDatabase()
  expect(database.tip).toBe(0)
  execute(database.writer, "CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT)")
  expect(database.noteCommit()).toBe(true)
  execute(database.writer, "INSERT INTO t(s) VALUES(?1)", ["a"])
  expect([database.tip, database.durableTip, database.unflushed]).toEqual([2, 0, 2])
  database.flush()
  expect([database.tip, database.durableTip, database.unflushed]).toEqual([2, 2, 0])
  database.close()

  const again = await reopen(engine, storage)
  expect(query(again.writer, "SELECT * FROM t")).toEqual([[1, "a"]])
  expect([again.tip, again.durableTip]).toEqual([2, 2])
  expect(one(again.writer, "PRAGMA integrity_check")).toBe("ok")
  again.close()
})

test("a half-read reader keeps its snapshot while the writer commits", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(id INTEGER PRIMARY KEY)")
  execute(database.writer, "INSERT INTO t(id) VALUES (1), (2), (3)")
  const reader = database.takeReader()
  const statement = reader.prepare("SELECT id FROM t", "autocommit")
  const run = { ranMs: 0, limitMs: 1000, stopped: undefined }
  expect(statement.step(run)).toBe(true)
  execute(database.writer, "INSERT INTO t(id) VALUES (4)")
  let rows = 1
  while (statement.step(run)) rows++
  expect(rows).toBe(3)
  statement.finalize()
  expect(one(reader, "SELECT count(*) FROM t")).toBe(4)
  database.giveReader(reader)
  database.close()
})
