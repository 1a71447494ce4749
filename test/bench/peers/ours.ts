import { openAgentDB, type Value } from "agentdb-web"
import type { Peer } from "../peer.ts"

export async function open(): Promise<Peer> {
  const agentdb = await openAgentDB({ storage: "opfs" })
  const { databases } = await agentdb.listDatabases()
  const { databaseId } = databases[0] ?? (await agentdb.createDatabase())
  const db = await agentdb.connect(databaseId)
  return {
    durable: true,
    dialect: "sqlite",
    exec: (sql, params = []) => db.exec(sql, params as Value[]),
    all: (sql) => db.query(sql).all(),
    get: (sql, params) => db.query(sql, params as Value[]).first(),
    many: (sql, rows) => db.batch(rows.map((params) => ({ sql, params: params as Value[] }))),
    async firstRow(sql) {
      const start = performance.now()
      for await (const _ of db.query(sql)) break
      return performance.now() - start
    },
    async columns(sql) {
      let rows = 0
      for await (const batch of db.query(sql).batches()) {
        for (const column of batch.columns) column.values()
        rows += batch.rows
      }
      return rows
    },
    async slowly(sql, pauseMs) {
      let rows = 0
      for await (const batch of db.query(sql).batches()) {
        rows += batch.rows
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
      return rows
    },
  }
}
