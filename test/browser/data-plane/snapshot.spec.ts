import { expect, test } from "../../fixtures/browser.ts"

test("a half-read stream sees its snapshot while another socket commits 1,000 times", async ({ profile, site }) => {
  const page = await profile.open(site.plain)
  const seen = await page.evaluate(async () => {
    const agentdb = await window.agentdbWeb.openAgentDB({
      storage: "opfs",
      limits: { firstBatchBytes: 4096, batchBytes: 4096 },
    })
    const { databaseId } = await agentdb.createDatabase()
    const [reader, writer] = [await agentdb.connect(databaseId), await agentdb.connect(databaseId)]
    await writer.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, version INTEGER NOT NULL, filler)")
    await writer.exec(
      "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 20000) INSERT INTO t SELECT i, 0, 'some text' FROM c",
    )
    const stream = reader.query<{ id: number; version: number }>("SELECT id, version FROM t ORDER BY id", [], {
      window: 5,
    })
    const rows = stream[Symbol.asyncIterator]()
    const first = await rows.next()
    for (let i = 1; i <= 1000; i++) {
      await writer.exec("UPDATE t SET version = ?1 WHERE id > (?1 - 1) * 20 AND id <= ?1 * 20", [i])
    }
    const changed = await writer.query("SELECT count(*) AS n FROM t WHERE version > 0").first()
    let count = first.done ? 0 : 1
    let versions = 0
    for (let next = await rows.next(); !next.done; next = await rows.next()) {
      count++
      versions += next.value.version
    }
    const { tip, totalRows } = await stream.done
    return { changed: changed?.n, count, versions, tip, totalRows, writerTip: writer.tip }
  })
  expect(seen).toEqual({ changed: 20_000, count: 20_000, versions: 0, tip: 2, totalRows: 20_000, writerTip: 1002 })
})
