import { expect, opfsTree, test } from "../fixtures/browser.ts"

test("acknowledged rows survive a kill of the browser, in the files that src/README.md names", async ({
  profile,
  site,
}) => {
  const before = await profile.open(site.plain)
  const databaseId = await before.evaluate(async () => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.exec("CREATE TABLE t(x)")
    for (let i = 1; i <= 20; i++) await db.exec("INSERT INTO t VALUES (?)", [i])
    return databaseId
  })
  const folder = `/agentdb/devkey/${databaseId}`
  const paths = (await opfsTree(before)).map(({ path }) => path)
  expect(paths).toEqual(
    expect.arrayContaining([`${folder}/data.sqlite`, `${folder}/data.sqlite-wal`, `${folder}/meta`]),
  )

  await profile.kill()
  await profile.launch()
  const after = await profile.open(site.plain)
  const rows = await after.evaluate(async (id) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const db = await agentdb.connect(id)
    const counts = await db.query("SELECT count(*) AS n, sum(x) AS total FROM t").first()
    return { ...counts, tip: (await agentdb.getDatabase(id)).tip }
  }, databaseId)
  expect(rows).toEqual({ n: 20, total: 210, tip: 21 })
})
