import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "@playwright/test"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import type { SyncFile } from "../../../src/storage/storage.ts"
import { codeOf, execute, one, startDatabase } from "../../fixtures/engine.ts"

/** What the sqlite3 command line says of a file; undefined where it is not installed. */
function askCommandLine(file: MemoryFile, sql: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "agentdb-dump-"))
  try {
    const path = join(folder, "copy.sqlite")
    writeFileSync(path, Buffer.concat(file.parts()))
    return execFileSync("sqlite3", ["-readonly", path, sql], { encoding: "utf8" }).trim()
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined
    throw error
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test("a dump is one snapshot, in slices, while writers go on", async () => {
  const { database } = await startDatabase()
  const { writer } = database
  execute(writer, "CREATE TABLE t(n INTEGER PRIMARY KEY, x)")
  execute(writer, "CREATE VIRTUAL TABLE f USING fts5(a)")
  execute(writer, "INSERT INTO f VALUES ('hello')")
  execute(
    writer,
    `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 3000)
     INSERT INTO t SELECT i, randomblob(2000) FROM c`,
  )
  const tip = database.tip
  const sum = one(writer, "SELECT sum(n) FROM t")
  const into = new MemoryFile()
  const copy = database.dump(into)
  let slices = 0
  let result = copy.next()
  while (!result.done) {
    slices++
    execute(writer, "INSERT INTO t(x) VALUES (randomblob(9000))")
    execute(writer, "DELETE FROM t WHERE n = ?1", [slices])
    result = copy.next()
  }
  expect(result.value).toEqual({ tip, bytes: into.getSize() })
  expect(slices).toBeGreaterThan(4)
  expect(database.readers).toBe(0)
  const header = new Uint8Array(100)
  into.read(header, { at: 0 })
  expect([header[18], header[19]]).toEqual([1, 1])
  const answer = askCommandLine(
    into,
    "PRAGMA integrity_check; SELECT count(*), sum(n) FROM t; SELECT rowid FROM f('hello'); PRAGMA journal_mode",
  )
  test.skip(answer === undefined, "the sqlite3 command line is not installed")
  expect(answer?.split("\n")).toEqual(["ok", `3000|${sum}`, "1", "delete"])
})

test("a dump left early gives its snapshot back, and one onto a full disk says so", async () => {
  const { database } = await startDatabase()
  execute(database.writer, "CREATE TABLE t(x)")
  execute(database.writer, "INSERT INTO t VALUES (zeroblob(3000000))")
  const copy = database.dump(new MemoryFile())
  copy.next()
  expect(database.readers).toBe(1)
  expect(database.checkpoint()).toBe(false)
  copy.return({ tip: 0, bytes: 0 })
  expect(database.readers).toBe(0)
  expect(database.checkpoint()).toBe(true)
  const small: SyncFile = new MemoryFile(1_500_000)
  const failing = database.dump(small)
  expect(codeOf(() => [...failing])).toBe("SQLITE_FULL")
  expect(database.readers).toBe(0)
})

test("an empty database dumps to a valid file", async () => {
  const { database } = await startDatabase()
  const into = new MemoryFile()
  const result = database.dump(into).next()
  expect(result).toEqual({ done: true, value: { tip: 0, bytes: 4096 } })
  const answer = askCommandLine(into, "PRAGMA integrity_check")
  test.skip(answer === undefined, "the sqlite3 command line is not installed")
  expect(answer).toBe("ok")
})
