import { PGliteWorker } from "@electric-sql/pglite/worker"
import type { Peer, Row } from "../peer.ts"

const numbered = (sql: string) => {
  let at = 0
  return sql.replaceAll("?", () => `$${++at}`)
}

export async function open(): Promise<Peer> {
  const db = await PGliteWorker.create(
    new Worker(new URL("./pglite.worker.ts", import.meta.url), { type: "module", name: "pglite" }),
  )
  return {
    durable: true,
    dialect: "postgres",
    exec: (sql, params = []) => db.query(numbered(sql), [...params]),
    all: async (sql) => (await db.query<Row>(sql)).rows,
    get: async (sql, params) => (await db.query<Row>(numbered(sql), [...params])).rows[0],
    many: (sql, rows) =>
      db.transaction(async (tx) => {
        for (const row of rows) await tx.query(numbered(sql), [...row])
      }),
  }
}
