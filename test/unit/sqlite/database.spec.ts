import { expect, test } from "@playwright/test"
import { Database } from "../../../src/sqlite/database.ts"
import { parseMeta } from "../../../src/sqlite/meta.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import type { DatabaseFiles, SyncFile } from "../../../src/storage/storage.ts"
import {
  attributes,
  codeOf,
  databaseId,
  execute,
  one,
  project,
  query,
  reopen,
  startDatabase,
  startEngine,
  unlimited,
} from "../../fixtures/engine.ts"

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
  expect(again.attributes).toEqual(attributes)
  again.close()
})

test("a half-read reader keeps its snapshot while the writer commits", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(id INTEGER PRIMARY KEY)")
  execute(database.writer, "INSERT INTO t(id) VALUES (1), (2), (3)")
  const reader = database.takeReader()
  const statement = reader.prepare("SELECT id FROM t", "autocommit")
  const run = unlimited()
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

test("the meta file tells of a database that was not closed, and its tip once it was", async () => {
  const { storage, database } = await startDatabase()
  const record = async () => parseMeta((await storage.readMeta(project, databaseId)) ?? new Uint8Array())
  execute(database.writer, "CREATE TABLE t(x)")
  expect(await record()).toMatchObject({ tip: 0, dirty: true, attributes })
  database.close()
  expect(await record()).toMatchObject({ tip: 1, dirty: false, attributes })
})

test("what was not closed is recovered with its tip", async () => {
  const { engine, storage, database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(x)")
  execute(database.writer, "INSERT INTO t VALUES (1)")
  database.flush()
  database.checkpoint()
  execute(database.writer, "INSERT INTO t VALUES (2)")
  database.flush()
  database.abandon()
  const again = await reopen(engine, storage)
  expect(again.tip).toBe(3)
  expect(query(again.writer, "SELECT x FROM t")).toEqual([[1], [2]])
})

test("a checkpoint waits for readers and for the writer's transaction", async () => {
  const { database } = await startDatabase()
  const { writer } = database
  execute(writer, "CREATE TABLE t(x)")
  execute(writer, "INSERT INTO t VALUES (1), (2)")
  expect(database.walBytes).toBeGreaterThan(4096)
  const reader = database.takeReader()
  const half = reader.prepare("SELECT x FROM t", "autocommit")
  half.step(unlimited())
  expect(database.readers).toBe(1)
  expect(database.checkpoint()).toBe(false)
  half.finalize()
  database.giveReader(reader)
  expect(database.readers).toBe(0)
  writer.run("BEGIN IMMEDIATE")
  expect(database.checkpoint()).toBe(false)
  writer.run("COMMIT")
  expect(database.checkpoint()).toBe(true)
  expect(database.walBytes).toBe(0)
  expect(database.durableTip).toBe(2)
})

test("readers are kept for the next one, and not given twice", async () => {
  const { database } = await startDatabase()
  const leased = Array.from({ length: 6 }, () => database.takeReader())
  expect(new Set(leased).size).toBe(6)
  for (const reader of leased) database.giveReader(reader)
  for (const reader of leased) database.giveReader(reader)
  const again = Array.from({ length: 6 }, () => database.takeReader())
  expect(new Set(again).size).toBe(6)
  expect(again.filter((reader) => leased.includes(reader))).toHaveLength(4)
})

/** Memory whose files fail where `fails` says so. */
class FailingStorage extends MemoryStorage {
  fails: (role: "main" | "wal" | "meta", operation: keyof SyncFile) => boolean = () => false
  /** What is thrown. */
  error: Error = new Error("the disk is gone")

  override async create(project: string, id: string): Promise<DatabaseFiles> {
    return this.#wrap(await super.create(project, id))
  }

  override async open(project: string, id: string): Promise<DatabaseFiles> {
    return this.#wrap(await super.open(project, id))
  }

  #wrap(files: DatabaseFiles): DatabaseFiles {
    const wrap = (role: "main" | "wal" | "meta"): SyncFile =>
      new Proxy(files[role], {
        get: (file, operation: keyof SyncFile) => {
          const method = file[operation].bind(file) as (...args: unknown[]) => unknown
          return (...args: unknown[]) => {
            if (this.fails(role, operation)) throw this.error
            return method(...args)
          }
        },
      })
    return { ...files, main: wrap("main"), wal: wrap("wal"), meta: wrap("meta") }
  }
}

async function startFailing() {
  const storage = new FailingStorage()
  const engine = await startEngine(storage)
  const database = Database.create(engine, await storage.create(project, databaseId), attributes)
  execute(database.writer, "CREATE TABLE t(x)")
  database.flush()
  return { storage, engine, database }
}

test("after a failed flush nothing works but letting go, and what was flushed is found again", async () => {
  const { storage, engine, database } = await startFailing()
  storage.fails = (role, operation) => role === "wal" && operation === "flush"
  execute(database.writer, "INSERT INTO t VALUES (1)")
  expect(codeOf(() => database.flush())).toBe("SQLITE_IOERR_FSYNC")
  storage.fails = () => false
  for (const action of [
    () => database.flush(),
    () => database.tip,
    () => database.checkpoint(),
    () => database.takeReader(),
    () => database.writer.prepare("SELECT 1", "autocommit"),
    () => database.writer.run("BEGIN"),
    () => database.dump(storage as never).next(),
  ]) {
    expect(codeOf(action)).toBe("SQLITE_IOERR_FSYNC")
  }
  database.abandon()
  const again = await reopen(engine, storage)
  expect(again.tip).toBeGreaterThanOrEqual(1)
  expect(again.tip).toBe(1 + Number(one(again.writer, "SELECT count(*) FROM t")))
})

test("a sync that fails inside a checkpoint fails the database", async () => {
  const { storage, database } = await startFailing()
  storage.fails = (role, operation) => role === "main" && operation === "flush"
  expect(codeOf(() => database.checkpoint())).toBe("SQLITE_IOERR_FSYNC")
  expect(codeOf(() => database.tip)).toBe("SQLITE_IOERR_FSYNC")
  database.abandon()
})

test("without its record there is no checkpoint, and nothing is lost", async () => {
  const { storage, engine, database } = await startFailing()
  storage.fails = (role, operation) => role === "meta" && operation === "write"
  const before = database.walBytes
  expect(database.checkpoint()).toBe(false)
  expect(database.walBytes).toBe(before)
  storage.fails = () => false
  execute(database.writer, "INSERT INTO t VALUES (1)")
  expect(database.checkpoint()).toBe(true)
  expect(database.tip).toBe(2)
  database.abandon()
  expect((await reopen(engine, storage)).tip).toBe(2)
})

test("on a full disk a close leaves the WAL, and the tip stays exact", async () => {
  const { storage, engine, database } = await startFailing()
  storage.error = new DOMException("no room", "QuotaExceededError")
  storage.fails = (role, operation) => role === "main" && operation === "write"
  execute(database.writer, "INSERT INTO t VALUES (1)")
  expect(database.checkpoint()).toBe(false)
  execute(database.writer, "INSERT INTO t VALUES (2)")
  database.close()
  storage.fails = () => false
  const again = await reopen(engine, storage)
  expect(again.tip).toBe(3)
  expect(query(again.writer, "SELECT x FROM t")).toEqual([[1], [2]])
  again.close()
})

test("an open that fails lets its files go and can be tried again", async () => {
  const { storage, engine, database } = await startFailing()
  database.close()
  storage.fails = (role, operation) => role === "meta" && operation === "write"
  await expect(reopen(engine, storage)).rejects.toThrow()
  storage.fails = () => false
  expect((await reopen(engine, storage)).tip).toBe(1)
})

test("damage is told as data_loss", async () => {
  const { storage, engine, database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(x)")
  database.close()
  const damage = async (role: "main" | "meta", at: number): Promise<string | undefined> => {
    const files = await storage.open(project, databaseId)
    const bytes = new Uint8Array(100)
    files[role].read(bytes, { at })
    files[role].write(new Uint8Array(100).fill(0xaa), { at })
    const code = codeOf(() => Database.open(engine, files).abandon())
    files[role].write(bytes, { at })
    return code
  }
  expect(await damage("main", 0)).toBe("data_loss")
  // One slot of the record may be torn; both may not.
  expect(await damage("meta", 0)).toBeUndefined()
  const files = await storage.open(project, databaseId)
  files.meta.write(new Uint8Array(8192).fill(0xaa), { at: 0 })
  expect(codeOf(() => Database.open(engine, files))).toBe("data_loss")
})

test("a creation that never ended is not found", async () => {
  const storage = new MemoryStorage()
  const engine = await startEngine(storage)
  const files = await storage.create(project, databaseId)
  expect(codeOf(() => Database.open(engine, files))).toBe("not_found")
})

test("attributes that do not fit are refused, and the files let go", async () => {
  const storage = new MemoryStorage()
  const engine = await startEngine(storage)
  const files = await storage.create(project, databaseId)
  const long = { ...attributes, region: "x".repeat(5000) }
  expect(codeOf(() => Database.create(engine, files, long))).toBe("invalid_argument")
})

test("many databases are open in one engine, each by itself", async () => {
  const storage = new MemoryStorage()
  const engine = await startEngine(storage)
  const databases: Database[] = []
  for (const letter of "abcdefgh") {
    const files = await storage.create(project, `DB_${letter.repeat(12)}`)
    databases.push(Database.create(engine, files, attributes))
  }
  databases.forEach((database, i) => {
    execute(database.writer, "CREATE TABLE t(x)")
    for (let n = 0; n < i; n++) execute(database.writer, "INSERT INTO t VALUES (?1)", [i])
  })
  expect(databases.map((database) => database.tip)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect(databases.map((database) => one(database.writer, "SELECT sum(x) FROM t"))).toEqual([
    null,
    1,
    4,
    9,
    16,
    25,
    36,
    49,
  ])
  for (const database of databases) database.close()
})

test("local time is the zone of the host", async () => {
  const { database } = await startDatabase()
  const zone = process.env["TZ"]
  const local = (timeZone: string, time: string): unknown => {
    process.env["TZ"] = timeZone
    return one(database.writer, "SELECT datetime(?1, 'localtime')", [time])
  }
  try {
    expect(local("Asia/Kolkata", "1970-01-01 00:00:00")).toBe("1970-01-01 05:30:00")
    expect(local("America/New_York", "2024-03-10 06:59:00")).toBe("2024-03-10 01:59:00")
    expect(local("America/New_York", "2024-03-10 07:30:00")).toBe("2024-03-10 03:30:00")
  } finally {
    if (zone === undefined) delete process.env["TZ"]
    else process.env["TZ"] = zone
  }
})
