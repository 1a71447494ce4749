import { expect, test } from "@playwright/test"
import { Connection } from "../../../src/sqlite/connection.ts"
import { emptyDatabase } from "../../../src/sqlite/vfs/empty-database.ts"
import { FileLocks } from "../../../src/sqlite/vfs/file-locks.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import type { SyncFile } from "../../../src/storage/storage.ts"
import { codeOf, execute, one, query, startEngine, unlimited } from "../../fixtures/engine.ts"
import { Random } from "../../fixtures/random.ts"

/** A mounted empty database on the files given, and connections on it. */
async function mountDatabase(files: { main?: SyncFile; wal?: SyncFile } = {}) {
  const engine = await startEngine(new MemoryStorage())
  const main = files.main ?? new MemoryFile()
  const wal = files.wal ?? new MemoryFile()
  main.write(emptyDatabase(), { at: 0 })
  const mount = engine.vfs.mount({ path: "/p/db", main, wal, meta: new MemoryFile(), close() {} })
  const connect = (role: "writer" | "reader" = "writer"): Connection => new Connection(engine, mount, role)
  return { engine, mount, main, wal, connect }
}

test("an empty database is valid and in WAL mode", async () => {
  const { connect } = await mountDatabase()
  const connection = connect()
  const mode = connection.prepareOwn("PRAGMA journal_mode")
  mode.step(unlimited())
  expect(mode.text(0)).toBe("wal")
  mode.finalize()
  expect(one(connection, "PRAGMA integrity_check")).toBe("ok")
  expect(one(connection, "PRAGMA page_size")).toBe(4096)
})

test("a second writer is busy, and one with a stale snapshot is told so", async () => {
  const { connect } = await mountDatabase()
  const a = connect()
  const b = connect()
  execute(a, "CREATE TABLE t(x)")
  a.run("BEGIN IMMEDIATE")
  execute(a, "INSERT INTO t VALUES (1)", [], "transaction")
  expect(codeOf(() => b.run("BEGIN IMMEDIATE"))).toBe("SQLITE_BUSY")
  a.run("COMMIT")
  b.run("BEGIN")
  expect(execute(b, "SELECT x FROM t", [], "transaction").rows).toEqual([[1]])
  execute(a, "INSERT INTO t VALUES (2)")
  expect(codeOf(() => execute(b, "INSERT INTO t VALUES (3)", [], "transaction"))).toBe("SQLITE_BUSY_SNAPSHOT")
  b.run("ROLLBACK")
  expect(query(b, "SELECT x FROM t")).toEqual([[1], [2]])
})

test("a reader in the way makes a truncating checkpoint busy and leaves the rest working", async () => {
  const { connect } = await mountDatabase()
  const writer = connect()
  const reader = connect("reader")
  execute(writer, "CREATE TABLE t(x)")
  execute(writer, "INSERT INTO t VALUES (1), (2)")
  const half = reader.prepare("SELECT x FROM t", "autocommit")
  half.step(unlimited())
  execute(writer, "INSERT INTO t VALUES (3)")
  const busy = (): number => {
    const statement = writer.prepareOwn("PRAGMA wal_checkpoint(TRUNCATE)")
    statement.step(unlimited())
    const value = statement.number(0)
    statement.finalize()
    return value
  }
  expect(busy()).toBe(1)
  half.finalize()
  expect(busy()).toBe(0)
  expect(query(reader, "SELECT count(*) FROM t")).toEqual([[3]])
})

test("eight connections agree with a model", async () => {
  const { connect } = await mountDatabase()
  const random = new Random(7)
  const writer = connect()
  execute(writer, "CREATE TABLE t(n INTEGER PRIMARY KEY, x)")
  const readers = Array.from({ length: 7 }, () => ({ connection: connect("reader"), snapshot: -1 }))
  let rows = 0
  let checked = 0
  for (let i = 0; i < 3000; i++) {
    const reader = random.pick(readers)
    const { connection } = reader
    const choice = random.next()
    if (choice < 0.3) {
      rows++
      execute(writer, "INSERT INTO t VALUES (?1, zeroblob(?2))", [rows, random.below(3000)])
    } else if (choice < 0.32) {
      writer.run("PRAGMA wal_checkpoint(PASSIVE)")
    } else if (choice < 0.45) {
      if (reader.snapshot >= 0) connection.run("COMMIT")
      connection.run("BEGIN")
      expect(execute(connection, "SELECT count(*) FROM t", [], "transaction").rows).toEqual([[rows]])
      reader.snapshot = rows
    } else if (choice < 0.5) {
      if (reader.snapshot >= 0) connection.run("COMMIT")
      reader.snapshot = -1
    } else {
      const expected = reader.snapshot >= 0 ? reader.snapshot : rows
      const [found] = execute(connection, "SELECT count(*), ifnull(max(n), 0) FROM t", [], "transaction").rows
      expect(found).toEqual([expected, expected])
      checked++
    }
  }
  expect(checked).toBeGreaterThan(500)
  for (const { connection } of readers) connection.close()
  expect(one(writer, "PRAGMA integrity_check")).toBe("ok")
  writer.close()
})

test("the last connection gives the shared memory back and empties the WAL", async () => {
  const { connect, mount, wal } = await mountDatabase()
  const a = connect()
  const b = connect("reader")
  execute(a, "CREATE TABLE t(x)")
  one(b, "SELECT count(*) FROM t")
  a.close()
  expect(mount.memory.header).toBeDefined()
  b.close()
  expect(mount.memory.header).toBeUndefined()
  expect(wal.getSize()).toBe(0)
})

test("file locks follow SQLite's table", () => {
  const locks = new FileLocks()
  expect(locks.lock(1, 1)).toBe(true)
  expect(locks.lock(2, 1)).toBe(true)
  expect(locks.lock(1, 2)).toBe(true)
  expect(locks.lock(2, 2)).toBe(false)
  expect(locks.reserved).toBe(true)
  expect(locks.lock(1, 4)).toBe(false)
  // Pending now: readers that are in may stay, new ones wait.
  expect(locks.lock(3, 1)).toBe(false)
  locks.unlock(2, 0)
  expect(locks.lock(1, 4)).toBe(true)
  expect(locks.lock(2, 1)).toBe(false)
  locks.unlock(1, 1)
  expect(locks.lock(2, 1)).toBe(true)
  expect(locks.reserved).toBe(false)
})

/** A file on a disk of limited size that fails as browsers do. */
class FullDisk extends MemoryFile {
  room = Number.POSITIVE_INFINITY
  readonly #answer: "short" | "nonsense" | "throw"

  constructor(answer: "short" | "nonsense" | "throw") {
    super()
    this.#answer = answer
  }

  override write(from: Uint8Array, options: { at: number }): number {
    if (options.at + from.length <= this.room) return super.write(from, options)
    if (this.#answer === "throw") throw new DOMException("no room", "QuotaExceededError")
    return this.#answer === "nonsense" ? 4294967288 : Math.floor(from.length / 3)
  }

  override truncate(size: number): void {
    if (size > this.room) throw new DOMException("no room", "QuotaExceededError")
    super.truncate(size)
  }
}

for (const answer of ["short", "nonsense", "throw"] as const) {
  test(`a full disk (${answer}) is SQLITE_FULL, rolls back, and heals`, async () => {
    const wal = new FullDisk(answer)
    const { connect, mount } = await mountDatabase({ wal })
    const writer = connect()
    execute(writer, "CREATE TABLE t(x)")
    execute(writer, "INSERT INTO t VALUES (1)")
    wal.room = wal.getSize() + 10_000
    let stored = 1
    let failure: string | undefined
    for (let i = 0; i < 200 && failure === undefined; i++) {
      failure = codeOf(() => execute(writer, "INSERT INTO t VALUES (zeroblob(30000))"))
      if (failure === undefined) stored++
    }
    expect(failure).toBe("SQLITE_FULL")
    expect(one(writer, "SELECT count(*) FROM t")).toBe(stored)
    expect(codeOf(() => execute(writer, "VACUUM"))).toBe("SQLITE_FULL")
    writer.run("BEGIN IMMEDIATE")
    const code = codeOf(() => {
      execute(writer, "INSERT INTO t VALUES (zeroblob(3000000))", [], "transaction")
      writer.run("COMMIT")
    })
    expect(code).toBe("SQLITE_FULL")
    if (writer.inTransaction) writer.run("ROLLBACK")
    expect(one(writer, "SELECT count(*) FROM t")).toBe(stored)
    // Nothing that was committed waits for room that is not there.
    mount.wal.flush()
    wal.room = Number.POSITIVE_INFINITY
    execute(writer, "INSERT INTO t VALUES (zeroblob(3000000))")
    expect(one(writer, "SELECT count(*) FROM t")).toBe(stored + 1)
    expect(one(writer, "PRAGMA integrity_check")).toBe("ok")
    writer.close()
  })
}

test("a full disk during a checkpoint loses nothing", async () => {
  const main = new FullDisk("short")
  const { connect } = await mountDatabase({ main })
  const writer = connect()
  execute(writer, "CREATE TABLE t(x)")
  main.room = 20_000
  execute(writer, "INSERT INTO t VALUES (zeroblob(100000))")
  expect(codeOf(() => writer.run("PRAGMA wal_checkpoint(TRUNCATE)"))).toBe("SQLITE_FULL")
  expect(one(writer, "SELECT length(x) FROM t")).toBe(100_000)
  main.room = Number.POSITIVE_INFINITY
  writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
  expect(one(writer, "PRAGMA integrity_check")).toBe("ok")
  writer.close()
})

test("sorts and index builds beyond the cache use scratch files, and give them back", async () => {
  const taken = new Set<SyncFile>()
  let takes = 0
  let scratchBytes = 0
  const storage = new MemoryStorage()
  storage.takeTemp = () => {
    takes++
    const file = new MemoryFile()
    taken.add(file)
    return file
  }
  storage.giveTemp = (file) => {
    scratchBytes = Math.max(scratchBytes, file.getSize())
    taken.delete(file)
  }
  const engine = await startEngine(storage)
  const main = new MemoryFile()
  main.write(emptyDatabase(), { at: 0 })
  const mount = engine.vfs.mount({ path: "/p/db", main, wal: new MemoryFile(), meta: new MemoryFile(), close() {} })
  const writer = new Connection(engine, mount, "writer")
  writer.run("PRAGMA cache_size=20")
  execute(writer, "CREATE TABLE t(x, y)")
  execute(
    writer,
    `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 20000)
     INSERT INTO t SELECT (i * 7919) % 20011, printf('%.*c', 200, 'x') FROM c`,
  )
  const sorted = query(writer, "SELECT x FROM t ORDER BY x, y").map(([x]) => x as number)
  expect(sorted).toEqual([...sorted].sort((a, b) => a - b))
  execute(writer, "CREATE INDEX i ON t(y, x)")
  execute(writer, "VACUUM")
  expect(one(writer, "PRAGMA integrity_check")).toBe("ok")
  expect(takes).toBeGreaterThan(2)
  expect(scratchBytes).toBeGreaterThan(100_000)
  expect(taken.size).toBe(0)
  writer.close()
})

test("without scratch files sorters use memory of their own", async () => {
  const { connect } = await mountDatabase()
  const writer = connect()
  writer.run("PRAGMA cache_size=20")
  const sql = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 20000)
    SELECT count(*) FROM (SELECT i, zeroblob(200) FROM c ORDER BY (i * 7919) % 20011 LIMIT 100000)`
  expect(one(writer, sql)).toBe(20_000)
  writer.close()
})
