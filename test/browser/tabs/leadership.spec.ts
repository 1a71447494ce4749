import { expect, test } from "../../fixtures/browser.ts"
import { connectTo, createTable, insert, openService, values } from "../host/service-page.ts"
import { newOpenTab, newTab, roleOf, routes, testing } from "./tab.ts"

for (const route of routes) {
  test.describe(`by ${route}`, () => {
    test("a second tab is on the service of the first, and each sees what the other writes", async ({
      profile,
      site,
    }) => {
      const first = await newOpenTab(profile, site.plain, route)
      const id = await createTable(first)
      await insert(first, 1)
      const second = await newOpenTab(profile, site.plain, route)
      expect([await roleOf(first), await roleOf(second)]).toEqual(["leader", "follower"])
      await connectTo(second, id)
      await insert(second, 2)
      expect(await values(first)).toEqual([1, 2])
      expect(await values(second)).toEqual([1, 2])
      expect(second.workers()).toHaveLength(0)
      const { storage, reason } = await second.evaluate(() => window.db.status)
      expect({ storage, reason }).toEqual({ storage: "opfs", reason: undefined })
    })

    test("everything of a handle works in a tab that follows", async ({ profile, site }) => {
      const first = await newOpenTab(profile, site.plain, route)
      const id = await createTable(first)
      const second = await newOpenTab(profile, site.plain, route)
      await connectTo(second, id)
      const result = await second.evaluate(async (id) => {
        const { db, connection } = window
        const { AgentDBServiceClient, client, mintToken } = window.agentdbWeb
        const tips: number[] = []
        const watch = db.watch(id, (tip) => tips.push(tip))
        await db.getDatabase(id)
        await connection.transaction(async (tx) => {
          await tx.exec("INSERT INTO t SELECT zeroblob(1000) FROM generate_series(1, 5000)").catch(async () => {
            await tx.exec(
              "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 5000) INSERT INTO t SELECT zeroblob(1000) FROM c",
            )
          })
        })
        const rows = await connection.query("SELECT v FROM t").all()
        // Watched once, then no more.
        while (tips.at(-1) !== 2) await new Promise((resolve) => setTimeout(resolve, 5))
        watch[Symbol.dispose]()
        await connection.exec("INSERT INTO t VALUES(1)")
        // A dump's URL is of this tab, and streams the file.
        const dump = await db.dumpDatabase(id)
        const { size } = await (await fetch(dump.downloadUrl)).blob()
        // Twirp, and its errors.
        const token = mintToken("devkey", "secret", Math.floor(Date.now() / 1_000))
        const service = new AgentDBServiceClient({
          url: "https://cloud.test",
          token,
          fetch: (input, init) => db.fetch(input, init),
        })
        const info = await service.getDatabase(id)
        const missing = await db.getDatabase("DB_nobody").catch((error: { code: string }) => error.code)
        const made = await db.createDatabase({ ttlSeconds: 60 })
        const listed = (await db.listDatabases()).databases.map(({ databaseId }) => databaseId)
        await db.deleteDatabase(made.databaseId)
        // A bare port.
        const bare = await client.connect({ link: db.port(), databaseId: id, token })
        const one = await bare.query("SELECT count(*) AS n FROM t").first()
        await bare.close()
        // A cancel of a statement that never reaches the worker's event loop.
        const abort = new AbortController()
        const runaway = connection.exec(
          "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
          [],
          { signal: abort.signal },
        )
        setTimeout(() => abort.abort(), 300)
        const canceled = await runaway.catch((error: { code: string }) => error.code)
        const after = await connection.query("SELECT 1 AS x").first()
        return { rows: rows.length, tips, size, info, missing, listed, made: made.databaseId, one, canceled, after }
      }, id)
      expect(result).toMatchObject({
        rows: 5000,
        tips: [2],
        info: { databaseId: id, tip: 3 },
        missing: "not_found",
        one: { n: 5001 },
        canceled: "canceled",
        after: { x: 1 },
      })
      expect(result.size).toBeGreaterThan(5_000_000)
      expect(result.listed).toContain(result.made)
      expect(await second.evaluate(() => window.failures)).toEqual([])
    })

    test("a tab that closes ends its sockets and its transaction at once", async ({ profile, site }) => {
      const first = await newOpenTab(profile, site.plain, route)
      const id = await createTable(first)
      const second = await newOpenTab(profile, site.plain, route)
      await connectTo(second, id)
      await second.evaluate(async () => {
        const tx = await window.connection.begin()
        await tx.exec("INSERT INTO t VALUES(100)")
      })
      await second.close()
      // The write turn is free again.
      await insert(first, 1)
      expect(await values(first)).toEqual([1])
    })

    test("a handle that closes lets go of what it opened, and the tab can open again", async ({ profile, site }) => {
      const first = await newOpenTab(profile, site.plain, route)
      const id = await createTable(first)
      const second = await newOpenTab(profile, site.plain, route)
      await connectTo(second, id)
      await second.evaluate(async () => {
        const tx = await window.connection.begin()
        await tx.exec("INSERT INTO t VALUES(100)")
        await window.db.close()
      })
      await insert(first, 1)
      await openService(second, testing(route))
      expect(await roleOf(second)).toBe("follower")
      await connectTo(second, id)
      expect(await values(second)).toEqual([1])
    })

    test("five tabs that open at once have one leader", async ({ profile, site }) => {
      const tabs = await Promise.all(Array.from({ length: 5 }, () => newTab(profile, site.plain)))
      const statuses = await Promise.all(tabs.map((tab) => openService(tab, testing(route))))
      expect(statuses.map(({ role }) => role).sort()).toEqual([
        "follower",
        "follower",
        "follower",
        "follower",
        "leader",
      ])
      expect(new Set(statuses.map(({ storage }) => storage))).toEqual(new Set(["opfs"]))
      const workers = tabs.map((tab) => tab.workers().length)
      expect(workers.reduce((a, b) => a + b)).toBe(1)
      const ids = await Promise.all(tabs.map((tab) => createTable(tab)))
      const lists = await Promise.all(
        tabs.map((tab) =>
          tab.evaluate(async () => (await window.db.listDatabases()).databases.map(({ databaseId }) => databaseId)),
        ),
      )
      for (const list of lists) expect(list.sort()).toEqual([...ids].sort())
    })
  })
}
