import { PowerSyncDatabase, Schema, WASQLiteVFS } from "@powersync/web"
import type { Peer, Row, Scalar } from "../peer.ts"

export async function open(): Promise<Peer> {
  const db = new PowerSyncDatabase({
    schema: new Schema({}),
    database: { dbFilename: "bench.db", vfs: WASQLiteVFS.OPFSWriteAheadVFS },
  })
  await db.execute("PRAGMA synchronous=FULL")
  return {
    durable: true,
    dialect: "sqlite",
    exec: (sql, params = []) => db.execute(sql, [...params]),
    all: (sql) => db.getAll<Row>(sql),
    get: async (sql, params) => (await db.getAll<Row>(sql, [...params]))[0],
    many: (sql, rows) => db.executeBatch(sql, rows as Scalar[][]),
  }
}
