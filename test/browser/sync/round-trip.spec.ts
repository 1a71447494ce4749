import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { corpus } from "../../fixtures/corpus.ts"
import { ObjectStore } from "../../fixtures/object-store.ts"

/** A hash over its content reads it piece by piece, for minutes. */
const largest = "values larger than a frame"

test("every schema of the corpus comes back from an object store with the same content", async ({ page, site }) => {
  test.setTimeout(240_000)
  await using store = await ObjectStore.start()
  await openHarness(page, site.plain)
  const bodies = await Promise.all(
    corpus.map(async ({ name, statements }, n) => {
      const key = `schema-${n}.sqlite`
      const byBytes = name === largest
      return { name, statements, byBytes, url: await store.signPut({ key }), download: await store.signGet({ key }) }
    }),
  )
  for (const { name, ...body } of bodies) {
    const hashes = await page.evaluate(async ({ statements, url, download, byBytes }) => {
      const { openAgentDB, sync } = window.agentdbWeb
      const agentdb = await openAgentDB()
      const hashOf = async (databaseId: string) => {
        if (byBytes) {
          const { downloadUrl } = await agentdb.dumpDatabase(databaseId)
          const bytes = await (await fetch(downloadUrl)).arrayBuffer()
          // But the counters of changes: the restore is a commit.
          const header = new Uint8Array(bytes, 0, Math.min(100, bytes.byteLength))
          for (const at of [24, 92, 96]) header.fill(0, at, at + 4)
          return [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].join()
        }
        const db = await agentdb.connect(databaseId)
        const { sha256, rows } = await sync.contentHash(db)
        await db.close()
        return { sha256, rows }
      }
      const { databaseId } = await agentdb.createDatabase()
      const db = await agentdb.connect(databaseId)
      for (const sql of statements) await db.exec(sql)
      await db.close()
      await sync.pushSnapshot({ from: agentdb, databaseId, to: sync.presignedPut({ url }) })
      const restored = await agentdb.restoreDatabase(await (await fetch(download)).blob())
      const hashes = [await hashOf(databaseId), await hashOf(restored.databaseId)]
      await agentdb.deleteDatabase(databaseId)
      await agentdb.deleteDatabase(restored.databaseId)
      return hashes
    }, body)
    expect(hashes[1], name).toEqual(hashes[0])
  }
  expect(store.puts).toHaveLength(corpus.length)
  expect(corpus.length).toBeGreaterThanOrEqual(25)
})
