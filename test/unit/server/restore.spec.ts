import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { expect, test } from "@playwright/test"
import type { Connection } from "../../../src/client/index.ts"
import type { RestoreJob } from "../../../src/server/restores.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import type { DatabaseFiles } from "../../../src/storage/storage.ts"
import { connectTo } from "../../fixtures/local-connection.ts"
import { dumpOf, fileOf } from "../../fixtures/restored.ts"
import { TestService } from "../../fixtures/service.ts"
import { hasSqlite3, inFolder, makeFile, noSqlite3 } from "../../fixtures/sqlite3-cli.ts"

const filled = (rows: number): string[] => [
  "CREATE TABLE t(id INTEGER PRIMARY KEY, x)",
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) INSERT INTO t SELECT i, 'row ' || i || hex(zeroblob(40)) FROM n`,
  "CREATE INDEX t_x ON t(x)",
]

let good: Uint8Array<ArrayBuffer>
test.beforeAll(async () => {
  good = await fileOf(filled(2000))
})

const job = (file: Uint8Array<ArrayBuffer>, more: Partial<RestoreJob> = {}): RestoreJob => ({
  file: new Blob([file]),
  ...more,
})

/** A service with a database of three rows that nothing may harm. */
async function withThreeRows(options = {}, limits = {}): Promise<TestService> {
  const at = await TestService.start(limits, options)
  const peer = await at.connect()
  await peer.exec("CREATE TABLE old(x)")
  await peer.exec("INSERT INTO old VALUES (1), (2), (3)")
  return at
}

const read = (connection: Connection, sql: string) => connection.query(sql, [], { rowMode: "array" }).all()

async function expectUnharmed(at: TestService): Promise<void> {
  const { databases } = await at.management.list()
  expect(databases.map(({ databaseId }) => databaseId)).toEqual([at.databaseId])
  expect(await at.storage.databases("devkey")).toEqual([at.databaseId])
  await using connection = await connectTo(at, at.databaseId)
  expect(await read(connection, "SELECT count(*) FROM old")).toEqual([[3]])
  expect(await read(connection, "PRAGMA integrity_check")).toEqual([["ok"]])
}

test("a restored database is a new one at tip 1, which goes on as any other", async () => {
  await using at = await withThreeRows()
  const seen: number[][] = []
  const { databaseId, expiresAt, warnings } = await at.management.restore(
    job(good, { onProgress: (...bytes) => seen.push(bytes) }),
    { region: "here", ttlSeconds: 60 },
  )
  expect(warnings).toEqual([])
  expect(expiresAt - Date.now() / 1000).toBeGreaterThan(55)
  expect(await at.management.get(databaseId)).toMatchObject({ tip: 1, region: "here", expiresAt })
  expect(seen.at(-1)).toEqual([good.length, good.length])
  await using connection = await connectTo(at, databaseId)
  expect(await read(connection, "SELECT count(*), max(id) FROM t")).toEqual([[2000, 2000]])
  expect((await connection.exec("INSERT INTO t(x) VALUES ('more')")).tip).toBe(2)
  await at.service.close()
  await using again = await TestService.start({}, { storage: at.storage })
  expect(await again.management.get(databaseId)).toMatchObject({ tip: 2 })
  expect((await dumpOf(again, databaseId)).length).toBeGreaterThanOrEqual(good.length)
})

test("C40: a file in WAL mode is restored, with a warning of the WAL that may be missing", async () => {
  test.skip(!hasSqlite3, noSqlite3)
  const file = makeFile(["PRAGMA journal_mode = WAL", ...filled(2000)])
  expect([file[18], file[19]]).toEqual([2, 2])
  await using at = await withThreeRows()
  const { databaseId, warnings } = await at.management.restore(job(file))
  expect(warnings).toEqual([expect.stringContaining("-wal")])
  await using connection = await connectTo(at, databaseId)
  expect(await read(connection, "SELECT count(*) FROM t")).toEqual([[2000]])
  const dump = await dumpOf(at, databaseId)
  expect([dump[18], dump[19]]).toEqual([1, 1])
})

test("C40: a file whose WAL still holds commits is restored with them if the WAL comes along, else warned of", async () => {
  test.skip(!hasSqlite3, noSqlite3)
  const { main, wal } = inFolder((folder) => openWal(folder))
  expect(wal.length).toBeGreaterThan(0)
  await using at = await withThreeRows()
  const whole = await at.management.restore(job(main, { wal: new Blob([wal]) }))
  expect(whole.warnings).toEqual([])
  expect(await at.management.get(whole.databaseId)).toMatchObject({ tip: 1 })
  await using connection = await connectTo(at, whole.databaseId)
  expect(await read(connection, "SELECT count(*) FROM t")).toEqual([[2000]])
  const half = await at.management.restore(job(main))
  expect(half.warnings).toEqual([expect.stringContaining("-wal")])
  await at.management.delete(whole.databaseId)
  await at.management.delete(half.databaseId)
  await expectUnharmed(at)
})

/** Copies a database of 2,000 rows while it is open, when nothing of it has been moved out of its WAL. */
function openWal(folder: string): { main: Uint8Array<ArrayBuffer>; wal: Uint8Array<ArrayBuffer> } {
  const [path, copy] = [`${folder}/open.sqlite`, `${folder}/copy.sqlite`]
  execFileSync("sqlite3", ["-bail", path], {
    input: [
      "PRAGMA journal_mode = WAL;",
      "PRAGMA wal_autocheckpoint = 0;",
      ...filled(2000).map((sql) => `${sql};`),
      `.shell cp ${path} ${copy}`,
      `.shell cp ${path}-wal ${copy}-wal`,
    ].join("\n"),
    stdio: ["pipe", "ignore", "inherit"],
  })
  return { main: new Uint8Array(readFileSync(copy)), wal: new Uint8Array(readFileSync(`${copy}-wal`)) }
}

/** What C41 has, and its like. Each with what it is refused with. */
function damaged(): [name: string, file: Uint8Array<ArrayBuffer>, code: string][] {
  const cutTo = (part: number): Uint8Array<ArrayBuffer> => good.slice(0, Math.floor(good.length * part))
  const overwritten = (page: number): Uint8Array<ArrayBuffer> => {
    const file = good.slice()
    file.fill(0xaa, page * 4096, (page + 1) * 4096)
    return file
  }
  const changed = (at: number, ...bytes: number[]): Uint8Array<ArrayBuffer> => {
    const file = good.slice()
    file.set(bytes, at)
    return file
  }
  return [
    ["4,096 bytes of 0x41", new Uint8Array(4096).fill(0x41), "invalid_argument"],
    ["no byte", new Uint8Array(0), "invalid_argument"],
    ["the first 15 bytes", good.slice(0, 15), "invalid_argument"],
    ["the first 16 bytes", good.slice(0, 16), "data_loss"],
    ["the first 100 bytes", good.slice(0, 100), "data_loss"],
    ["a quarter", cutTo(0.25), "data_loss"],
    ["half", cutTo(0.5), "data_loss"],
    ["three quarters", cutTo(0.75), "data_loss"],
    ["all but the last byte", good.slice(0, -1), "data_loss"],
    [
      "half, of a version that does not tell its size",
      (() => good.slice())().fill(0, 92, 96).slice(0, 40_960),
      "data_loss",
    ],
    ["a page of 0xAA", overwritten(9), "data_loss"],
    ["a first page of 0xAA but for the header", changed(100, ...new Uint8Array(3996).fill(0xaa)), "data_loss"],
    ["a gzip file", new Uint8Array(gzipSync(good)), "invalid_argument"],
    ["a zip file", new Uint8Array([0x50, 0x4b, 3, 4, ...new Uint8Array(200)]), "invalid_argument"],
    ["a page size of 1,000", changed(16, 3, 0xe8), "data_loss"],
    ["a page size of 0", changed(16, 0, 0), "data_loss"],
    ["another page size than its own", changed(16, 2, 0), "data_loss"],
    ["a format that is yet to come", changed(18, 3, 3), "invalid_argument"],
    ["a link of the free list that leads nowhere", changed(32, 0, 0, 0xff, 0xff), "data_loss"],
  ]
}

test("C41: what is damaged or no database is refused, nothing is left and the others are unharmed", async () => {
  await using at = await withThreeRows()
  const found: string[] = []
  const expected: string[] = []
  for (const [name, file, code] of damaged()) {
    const outcome = await at.management.restore(job(file)).then(
      () => "restored",
      (error: { code: string; message: string }) => error.code,
    )
    found.push(`${name}: ${outcome}`)
    expected.push(`${name}: ${code}`)
    if (outcome !== "restored") await expectUnharmed(at)
  }
  expect(found).toEqual(expected)
  await at.service.close()
  await using again = await TestService.start({}, { storage: at.storage })
  expect((await again.management.list()).databases.length).toBe(2)
  await using connection = await connectTo(again, at.databaseId)
  expect(await read(connection, "SELECT count(*) FROM old")).toEqual([[3]])
})

test("a schema that this SQLite can't use is refused by name; a table of an unknown module stays as it is", async () => {
  test.skip(!hasSqlite3, noSqlite3)
  await using at = await withThreeRows()
  const schema = (sql: string): string[] => [
    "CREATE TABLE t(a)",
    "INSERT INTO t VALUES (1)",
    ".dbconfig defensive off",
    "PRAGMA writable_schema = ON",
    sql,
  ]
  const virtual = (module: string): string[] =>
    schema(`INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING ${module}')`)
  await expect(at.management.restore(job(makeFile(virtual("sqlite_dbpage"))))).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("sqlite_dbpage"),
  })
  await expectUnharmed(at)
  const unknown = await at.management.restore(job(makeFile(virtual("elsewhere(1)"))))
  await using connection = await connectTo(at, unknown.databaseId)
  expect(await read(connection, "SELECT a FROM t")).toEqual([[1]])
  await expect(connection.query("SELECT * FROM v").all()).rejects.toMatchObject({
    code: "SQLITE_ERROR",
    message: expect.stringContaining("no such module: elsewhere"),
  })
})

for (const encoding of ["UTF-16le", "UTF-16be"]) {
  test(`a file in ${encoding} is refused, and what to do is said`, async () => {
    test.skip(!hasSqlite3, noSqlite3)
    await using at = await withThreeRows()
    const file = makeFile([`PRAGMA encoding = '${encoding}'`, ...filled(10)])
    await expect(at.management.restore(job(file))).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/UTF-16.*\.dump/),
    })
    await expectUnharmed(at)
  })
}

test("a canceled restore leaves nothing, while copying and while checking", async () => {
  await using at = await withThreeRows()
  const big = await fileOf(filled(60_000))
  expect(big.length).toBeGreaterThan(4 * 2 ** 20)
  let copied = 0
  const whileCopying = job(big, { onProgress: (bytes) => (copied = bytes), isCanceled: () => copied > 2 ** 21 })
  await expect(at.management.restore(whileCopying)).rejects.toMatchObject({ code: "canceled", name: "AbortError" })
  expect(copied).toBeLessThan(big.length)
  await expectUnharmed(at)
  const whileChecking = job(big, { isCanceled: (ranMs) => ranMs > 0 })
  await expect(at.management.restore(whileChecking)).rejects.toMatchObject({ code: "canceled" })
  await expectUnharmed(at)
})

test("a check that takes too long is ended", async () => {
  await using at = await withThreeRows({}, { maintenanceMs: 1 })
  const big = await fileOf(filled(60_000))
  await expect(at.management.restore(job(big))).rejects.toMatchObject({ code: "deadline_exceeded" })
  await expectUnharmed(at)
})

test("a service that closes ends a restore and leaves nothing of it", async () => {
  const storage = new MemoryStorage()
  const at = await withThreeRows({ storage })
  const big = await fileOf(filled(60_000))
  let closing: Promise<void> | undefined
  const restoring = at.management.restore(
    job(big, {
      onProgress: () => {
        closing ??= at.service.close()
      },
    }),
  )
  await expect(restoring).rejects.toMatchObject({ code: "unavailable" })
  await closing
  expect(await storage.databases("devkey")).toEqual([at.databaseId])
})

test("a full disk ends a restore with SQLITE_FULL and leaves nothing, whenever it comes", async () => {
  const storage = new SmallStorage()
  await using at = await withThreeRows({ storage })
  for (const room of [0, 4096, good.length - 1, good.length]) {
    storage.room = room
    // The content fits in the last case, its record does not.
    storage.metaFits = room < good.length
    await expect(at.management.restore(job(good)), `${room} bytes`).rejects.toMatchObject({ code: "SQLITE_FULL" })
    storage.room = Number.POSITIVE_INFINITY
    storage.metaFits = true
    await expectUnharmed(at)
  }
  await at.management.restore(job(good))
})

/** Main files of databases that are made grow up to `room`. */
class SmallStorage extends MemoryStorage {
  room = Number.POSITIVE_INFINITY
  metaFits = true

  override async create(project: string, id: string): Promise<DatabaseFiles> {
    const files = await super.create(project, id)
    const { room, metaFits } = this
    const short = (file: DatabaseFiles["main"], most: number): DatabaseFiles["main"] => ({
      read: (into, options) => file.read(into, options),
      write: (from, { at }) => file.write(from.subarray(0, Math.max(0, most - at)), { at }),
      truncate: (size) => file.truncate(size),
      getSize: () => file.getSize(),
      flush: () => file.flush(),
      close: () => file.close(),
    })
    return { ...files, main: short(files.main, room), meta: short(files.meta, metaFits ? 8192 : 0) }
  }
}

test("C45: no log of one database ever reaches another", async () => {
  const storage = new MemoryStorage()
  const at = await withThreeRows({ storage })
  const files = await storage.open("devkey", at.databaseId)
  expect(files.wal.getSize()).toBeGreaterThan(0)
  const leftWal = files.wal as MemoryFile
  expect(leftWal).toBeInstanceOf(MemoryFile)
  // As after a kill: the old service is not closed, and its log is not moved.
  await using next = await TestService.start({}, { storage })
  const file = await fileOf(filled(100))
  const { databaseId } = await next.management.restore(job(file))
  await using connection = await connectTo(next, databaseId)
  expect(await read(connection, "SELECT count(*) FROM t")).toEqual([[100]])
  expect(await read(connection, "PRAGMA integrity_check")).toEqual([["ok"]])
  await next.management.delete(at.databaseId)
  expect(await storage.databases("devkey")).not.toContain(at.databaseId)
  const empty = await next.management.create()
  await using fresh = await connectTo(next, empty.databaseId)
  expect(await read(fresh, "SELECT count(*) FROM sqlite_schema")).toEqual([[0]])
})
