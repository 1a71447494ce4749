import { connect } from "@tursodatabase/database-wasm/vite"
import type { Peer, Row } from "../peer.ts"

export async function open(): Promise<Peer> {
  const db = await connect("bench.db")
  return {
    durable: true,
    dialect: "sqlite",
    filledFromPage: true,
    exec: async (sql, params = []) => (await db.prepare(sql)).run(...params),
    all: async (sql) => (await (await db.prepare(sql)).all()) as Row[],
    get: async (sql, params) => (await (await db.prepare(sql)).get(...params)) as Row | undefined,
    async many(sql, rows) {
      await db.exec("BEGIN")
      const statement = await db.prepare(sql)
      for (const row of rows) await statement.run(...row)
      await db.exec("COMMIT")
    },
  }
}
