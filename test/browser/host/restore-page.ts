import type { Page } from "@playwright/test"

/** Opens `window.service` with a database of `rows` rows of 500 bytes; gives its id. */
export function insertRows(page: Page, storage: "opfs" | "memory", rows: number): Promise<string> {
  return page.evaluate(
    async ([storage, rows]) => {
      window.service = await window.agentdbWeb.openAgentDB({ storage })
      const { databaseId } = await window.service.createDatabase()
      const db = await window.service.connect(databaseId)
      await db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
      await db.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
         INSERT INTO t SELECT i, randomblob(500) FROM n`,
      )
      return databaseId
    },
    [storage, rows] as const,
  )
}
