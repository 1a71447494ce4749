import { SQLocal } from "sqlocal"
import type { Peer } from "../peer.ts"

export async function open(): Promise<Peer> {
  const { sql: run, batch } = new SQLocal("bench.sqlite3")
  return {
    durable: true,
    dialect: "sqlite",
    exec: (sql, params = []) => run(sql, ...params),
    all: (sql) => run(sql),
    get: async (sql, params) => (await run(sql, ...params))[0],
    many: (sql, rows) => batch(() => rows.map((params) => ({ sql, params: [...params] }))),
  }
}
