import { expect, test } from "@playwright/test"
import { Database } from "../../../src/sqlite/database.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import {
  attributes,
  databaseId,
  execute,
  failureOf,
  one,
  project,
  reopen,
  startDatabase,
  startEngine,
  unlimited,
} from "../../fixtures/engine.ts"

/** A file of another SQLite, by way of a dump. */
async function foreignFile(rows = 2000): Promise<Uint8Array> {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT)")
  execute(
    database.writer,
    `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT ${rows})
     INSERT INTO t SELECT i, printf('row %d of the fixture', i) FROM c`,
  )
  const into = new MemoryFile()
  const copy = database.dump(into)
  while (!copy.next().done);
  return new Uint8Array(Buffer.concat(into.parts()))
}

async function restore(bytes: Uint8Array) {
  const storage = new MemoryStorage()
  const engine = await startEngine(storage)
  const files = await storage.create(project, databaseId)
  files.main.write(bytes, { at: 0 })
  const database = (): Database => Database.restore(engine, files, attributes, unlimited())
  return { storage, engine, database }
}

test("a foreign file becomes a database with tip 0", async () => {
  const { storage, engine, database: start } = await restore(await foreignFile())
  const database = start()
  expect(database.tip).toBe(0)
  expect(one(database.writer, "SELECT count(*) FROM t")).toBe(2000)
  execute(database.writer, "INSERT INTO t(s) VALUES ('new')")
  database.close()
  const again = await reopen(engine, storage)
  expect(again.tip).toBe(1)
  expect(one(again.writer, "SELECT count(*) FROM t")).toBe(2001)
})

test("what is no whole database is refused", async () => {
  const file = await foreignFile()
  const badPage = file.slice()
  badPage.fill(0xaa, 4096 * 3, 4096 * 4)
  const walMode = file.slice()
  walMode.fill(2, 18, 20)
  const cut = (share: number): Uint8Array => file.slice(0, Math.floor((file.length * share) / 4096) * 4096)
  const gzip = new Uint8Array(4096)
  gzip.set([0x1f, 0x8b, 8])
  const fixtures: [name: string, bytes: Uint8Array, code: string][] = [
    ["letters", new Uint8Array(4096).fill(0x41), "SQLITE_NOTADB"],
    ["gzip", gzip, "SQLITE_NOTADB"],
    ["nothing", new Uint8Array(0), "SQLITE_NOTADB"],
    ["header", file.slice(0, 100), "SQLITE_CORRUPT"],
    ["quarter", cut(0.25), "SQLITE_CORRUPT"],
    ["half", cut(0.5), "SQLITE_CORRUPT"],
    ["three quarters", cut(0.75), "SQLITE_CORRUPT"],
    ["a torn page", file.slice(0, file.length - 1000), "SQLITE_CORRUPT"],
    ["a bad page", badPage, "SQLITE_CORRUPT"],
    ["WAL mode", walMode, "failed_precondition"],
  ]
  for (const [name, bytes, code] of fixtures) {
    const { database } = await restore(bytes)
    const failure = failureOf(database)
    expect([name, failure?.code]).toEqual([name, code])
    if (name === "WAL mode") expect(failure?.message).toContain("WAL")
  }
})

test("the check of a large file can be stopped", async () => {
  const storage = new MemoryStorage()
  const engine = await startEngine(storage)
  const files = await storage.create(project, databaseId)
  files.main.write(await foreignFile(), { at: 0 })
  const run = { ...unlimited(), isCanceled: () => true }
  expect(failureOf(() => Database.restore(engine, files, attributes, run))?.code).toBe("canceled")
})
