import { expect, test } from "../../fixtures/browser.ts"
import { connectTo, createTable, insert, values } from "../host/service-page.ts"
import { newOpenTab, roleOf, routes } from "./tab.ts"

for (const route of routes) {
  test(`files go both ways from a tab that follows, by ${route}`, async ({ profile, site }) => {
    const first = await newOpenTab(profile, site.plain, route)
    const id = await createTable(first)
    await insert(first, 1)
    const second = await newOpenTab(profile, site.plain, route)
    expect(await roleOf(second)).toBe("follower")
    const result = await second.evaluate(async (id) => {
      const { db } = window
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => "done",
          (error: { code: string }) => error.code,
        )
      const connection = await db.connect(id)
      const fill =
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 20000) INSERT INTO t SELECT zeroblob(1000) FROM c"
      await connection.exec(fill)

      // A dump of this tab, as a Blob and as bytes, becomes a database again.
      const { downloadUrl, tip } = await db.dumpDatabase(id)
      const file = await (await fetch(downloadUrl)).blob()
      const progress: number[] = []
      const fromBlob = await db.restoreDatabase(file, { onProgress: ({ bytes }) => progress.push(bytes) })
      const fromBytes = await db.restoreDatabase(new Uint8Array(await file.arrayBuffer()))
      const count = async (id: string) => {
        const restored = await db.connect(id)
        return (await restored.query<{ n: number }>("SELECT count(*) AS n FROM t").first())?.n
      }
      const counts = [await count(fromBlob.databaseId), await count(fromBytes.databaseId)]

      // What is no database, and what is canceled, is refused by its code and leaves nothing.
      const before = (await db.listDatabases()).databases.length
      const refused = await codeOf(db.restoreDatabase(new Blob(["no database"])))
      const abort = new AbortController()
      const canceled = await codeOf(db.restoreDatabase(file, { signal: abort.signal, onProgress: () => abort.abort() }))
      const after = (await db.listDatabases()).databases.length

      // A copy that is held, and let go.
      const hold = await db.holdDump(id, () => {})
      const held = { size: hold.file.size, tip: hold.tip, sha256: hold.sha256.length }
      hold.release()
      const whole = await codeOf(db.rawDatabaseFiles(id))
      return { size: file.size, tip, progress, counts, refused, canceled, grown: after - before, held, whole }
    }, id)
    expect(result).toMatchObject({
      tip: 3,
      counts: [20_001, 20_001],
      refused: "invalid_argument",
      canceled: "canceled",
      grown: 0,
      held: { size: result.size, tip: 3 },
      whole: "failed_precondition",
    })
    expect(result.progress.at(-1)).toBe(result.size)
    expect(result.progress).toEqual([...result.progress].sort((a, b) => a - b))
    // The one that leads sees them, and the other way round.
    const { databases } = await first.evaluate(() => window.db.listDatabases())
    expect(databases).toHaveLength(3)
    await first.evaluate(async () => {
      const { downloadUrl } = await window.db.dumpDatabase(
        (await window.db.listDatabases()).databases[0]?.databaseId ?? "",
      )
      const { databaseId } = await window.db.restoreDatabase(await (await fetch(downloadUrl)).blob())
      window.made = databaseId
    })
    await connectTo(second, await first.evaluate(() => window.made))
    expect((await values(second)).length).toBe(20_001)
    for (const tab of [first, second]) expect(await tab.evaluate(() => window.failures)).toEqual([])
  })

  test(`a damaged database's files and a bare port come to a tab that follows, by ${route}`, async ({
    profile,
    site,
  }) => {
    const first = await newOpenTab(profile, site.plain, route, { limits: { databaseIdleMs: 500 } })
    const id = await createTable(first)
    await insert(first, 1)
    await first.evaluate(() => window.connection.close())
    const second = await newOpenTab(profile, site.plain, route, { limits: { databaseIdleMs: 500 } })
    const found = await second.evaluate(async (id) => {
      const { db } = window
      const { client, mintToken } = window.agentdbWeb
      const token = mintToken("devkey", "secret", Math.floor(Date.now() / 1_000))
      const bare = await client.connect({ link: db.port(), databaseId: id, token })
      const abort = new AbortController()
      const runaway = bare
        .query("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c", [], {
          signal: abort.signal,
        })
        .all()
        .catch(({ code }: { code: string }) => code)
      setTimeout(() => abort.abort(), 200)
      const canceled = await runaway
      const tips: number[] = []
      const watch = db.watch(id, (tip) => tips.push(tip))
      // The watch is there once a later call is answered.
      await db.getDatabase(id)
      for (let i = 0; i < 3; i++) await bare.exec("INSERT INTO t VALUES(2)")
      while (tips.at(-1) !== 5) await new Promise((resolve) => setTimeout(resolve, 5))
      watch[Symbol.dispose]()
      await bare.exec("INSERT INTO t VALUES(3)")
      await bare.close()
      return { canceled, tips }
    }, id)
    expect(found).toEqual({ canceled: "canceled", tips: [3, 4, 5] })
    // Once it is idle its handles let others in.
    const erase = () =>
      second.evaluate(async (id) => {
        let folder = await navigator.storage.getDirectory()
        for (const name of ["agentdb", "devkey", id]) folder = await folder.getDirectoryHandle(name)
        await folder.removeEntry("meta")
      }, id)
    await expect(erase).toPass({ timeout: 20_000 })
    const raw = await second.evaluate(async (id) => {
      const code = await window.db.connect(id).catch((error: { code: string }) => error.code)
      const files = await window.db.rawDatabaseFiles(id)
      const main = files.find(({ name }) => name === "data.sqlite")
      return { code, names: files.map(({ name }) => name), head: await main?.content.slice(0, 15).text() }
    }, id)
    expect(raw).toEqual({ code: "data_loss", names: ["data.sqlite", "data.sqlite-wal"], head: "SQLite format 3" })
  })
}

declare global {
  interface Window {
    made: string
  }
}
