import { expect, openHarness, opfsTree, test } from "../../fixtures/browser.ts"
import { insertRows } from "./restore-page.ts"

for (const storage of ["opfs", "memory"] as const) {
  test(`a dump comes back as a new database, with progress (${storage})`, async ({ page, site }) => {
    await openHarness(page, site.plain)
    const id = await insertRows(page, storage, 3000)
    const result = await page.evaluate(async (id) => {
      const { service } = window
      const dump = await service.dumpDatabase(id)
      const file = await (await fetch(dump.downloadUrl)).blob()
      const bytes = new Uint8Array(await file.arrayBuffer())
      const seen: number[] = []
      const restored = await service.restoreDatabase(file, { region: "here", onProgress: (p) => seen.push(p.bytes) })
      const again = await service.restoreDatabase(bytes)
      const tips: number[] = []
      for (const { databaseId } of [restored, again]) {
        const db = await service.connect(databaseId)
        const [row] = await db.query("SELECT count(*) AS n, sum(length(x)) AS bytes FROM t").all()
        if (row?.["n"] !== 3000 || row["bytes"] !== 3000 * 500) throw new Error(JSON.stringify(row))
        tips.push((await service.getDatabase(databaseId)).tip)
        tips.push((await db.exec("INSERT INTO t(x) VALUES (1)")).tip)
      }
      const { region } = await service.getDatabase(restored.databaseId)
      return { warnings: restored.warnings, tips, region, last: seen.at(-1), size: file.size }
    }, id)
    expect(result).toMatchObject({ warnings: [], tips: [1, 2, 1, 2], region: "here", last: result.size })
  })
}

test("C41: what is refused or canceled leaves no file and no database", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const id = await insertRows(page, "opfs", 12_000)
  const result = await page.evaluate(async (id) => {
    const { service } = window
    const dump = await service.dumpDatabase(id)
    const file = await (await fetch(dump.downloadUrl)).blob()
    const outcome = (call: Promise<unknown>) =>
      call.then(
        () => "restored",
        (error: { name: string; code: string }) => `${error.name} ${error.code}`,
      )
    const before = new AbortController()
    before.abort()
    const copying = new AbortController()
    const checking = new AbortController()
    return {
      empty: await outcome(service.restoreDatabase(new Blob([]))),
      garbage: await outcome(service.restoreDatabase(new Uint8Array(4096).fill(0x41))),
      half: await outcome(service.restoreDatabase(file.slice(0, file.size / 2))),
      torn: await outcome(
        service.restoreDatabase(new Blob([file.slice(0, 81_920), new Uint8Array(4096).fill(0xaa), file.slice(86_016)])),
      ),
      noFile: await outcome(service.restoreDatabase("path" as never)),
      before: await outcome(service.restoreDatabase(file, { signal: before.signal })),
      copying: await outcome(
        service.restoreDatabase(file, { signal: copying.signal, onProgress: () => copying.abort() }),
      ),
      checking: await outcome(
        service.restoreDatabase(file, {
          signal: checking.signal,
          onProgress: ({ bytes, totalBytes }) => bytes === totalBytes && checking.abort(),
        }),
      ),
      left: (await service.listDatabases()).databases.length,
    }
  }, id)
  expect(result).toEqual({
    empty: "AgentDBError invalid_argument",
    garbage: "AgentDBError invalid_argument",
    half: "AgentDBError data_loss",
    torn: "AgentDBError data_loss",
    noFile: "AgentDBError invalid_argument",
    before: "AbortError canceled",
    copying: "AbortError canceled",
    // The check may have ended before the page heard of the last byte.
    checking: expect.stringMatching(/^AbortError canceled$|^restored$/),
    left: result.checking === "restored" ? 2 : 1,
  })
  const folders = new Set(
    (await opfsTree(page)).map(({ path }) => path.split("/")[3]).filter((name) => name?.startsWith("DB_")),
  )
  expect(folders.size).toBe(result.left)
})
