import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { openService } from "../host/service-page.ts"

const counts = [0, 10, 100, 300]

test("the service opens, and its first database answers, as fast with 300 databases as with none", async ({
  profile,
  site,
}) => {
  test.setTimeout(180_000)
  const page = await openHarness(await profile.context.newPage(), site.plain)
  await openService(page, { storage: "opfs" })
  const first = await page.evaluate(async () => {
    const { databaseId } = await window.db.createDatabase()
    await (await window.db.connect(databaseId)).exec("CREATE TABLE t(x)")
    return databaseId
  })
  const times: { others: number; openMs: number; answerMs: number; listMs: number }[] = []
  let made = 0
  for (const others of counts) {
    made = await page.evaluate(
      async ([made, others]) => {
        for (; made < others; made++) await window.db.createDatabase()
        await window.db.close()
        return made
      },
      [made, others] as const,
    )
    times.push(
      await page.evaluate(
        async ([others, first]) => {
          const at = [performance.now()]
          window.db = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
          at.push(performance.now())
          const db = await window.db.connect(first)
          await db.query("SELECT count(*) FROM t").first()
          at.push(performance.now())
          const { databases } = await window.db.listDatabases({ pageSize: 1000 })
          at.push(performance.now())
          if (databases.length !== others + 1) throw new Error(`${databases.length} are listed`)
          const [openMs = 0, answerMs = 0, listMs = 0] = at.slice(1).map((ms, i) => Math.round(ms - (at[i] ?? 0)))
          return { others, openMs, answerMs, listMs }
        },
        [others, first] as const,
      ),
    )
  }
  console.log(JSON.stringify(times))
  expect(times.map(({ others }) => others)).toEqual(counts)
  await page.evaluate(() => window.db.close())
})
