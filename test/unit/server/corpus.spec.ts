import { createHash } from "node:crypto"
import { expect, test } from "@playwright/test"
import { contentHash } from "../../../src/sync/content-hash.ts"
import { type CorpusEntry, corpus } from "../../fixtures/corpus.ts"
import { connectTo } from "../../fixtures/local-connection.ts"
import { dumpOf } from "../../fixtures/restored.ts"
import { TestService } from "../../fixtures/service.ts"
import { askBytes, hasSqlite3, makeFile, noSqlite3 } from "../../fixtures/sqlite3-cli.ts"

let service: TestService
test.beforeAll(async () => {
  service = await TestService.start()
})
test.afterAll(() => service[Symbol.asyncDispose]())

async function hashOf(databaseId: string): Promise<string> {
  await using connection = await connectTo(service, databaseId)
  return (await contentHash(connection)).sha256
}

/** A database of the entry, made over Wire, or from a file where only that can be it. */
async function make({ statements, pragmas }: CorpusEntry): Promise<string> {
  if (pragmas) {
    const file = makeFile([...pragmas, ...statements])
    return (await service.management.restore({ file: new Blob([file]) })).databaseId
  }
  const { databaseId } = await service.management.create()
  await using connection = await connectTo(service, databaseId)
  for (const statement of statements) await connection.exec(statement)
  return databaseId
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex")

test("the corpus has what it should", () => {
  expect(corpus.length).toBeGreaterThanOrEqual(25)
  expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length)
})

for (const entry of corpus) {
  test(`dump and restore: ${entry.name}`, async () => {
    test.skip(entry.pragmas !== undefined && !hasSqlite3, noSqlite3)
    const databaseId = await make(entry)
    const hash = await hashOf(databaseId)
    const dump = await dumpOf(service, databaseId)
    const restored = await service.management.restore({ file: new Blob([dump]) })
    expect(restored.warnings).toEqual([])
    expect(await service.management.get(restored.databaseId)).toMatchObject({ tip: 1 })
    expect(await hashOf(restored.databaseId)).toBe(hash)
    // Page by page the same, of whatever size.
    const again = await dumpOf(service, restored.databaseId)
    expect(digest(again.toString())).toBe(digest(dump.toString()))
    test.skip(!hasSqlite3, noSqlite3)
    expect(askBytes(dump, "PRAGMA integrity_check")).toBe("ok")
    if (!entry.pragmas) return
    const file = makeFile([...entry.pragmas, ...entry.statements])
    const asked = "PRAGMA encoding; PRAGMA page_size; PRAGMA auto_vacuum"
    expect(askBytes(dump, asked)).toBe(askBytes(file, asked))
    // An account of the content that owes nothing to this package.
    expect(askBytes(dump, ".dump")).toBe(askBytes(file, ".dump"))
  })
}
