import { expose } from "comlink"
import type { Row, Scalar } from "../peer.ts"
import type { InWorker, WorkerModule } from "./comlink-peer.ts"
import { openPool } from "./sahpool.ts"

let db: Awaited<ReturnType<typeof openPool>>["db"]

const inWorker: InWorker & WorkerModule = {
  async open() {
    db = (await openPool()).db
  },
  exec(sql, params) {
    db.exec({ sql, bind: params as Scalar[] })
  },
  all: (sql, params) =>
    db.exec({
      sql,
      ...(params.length > 0 ? { bind: params as Scalar[] } : {}),
      rowMode: "object",
      returnValue: "resultRows",
    }) as unknown as Row[],
  many(sql, rows) {
    db.transaction(() => {
      const statement = db.prepare(sql)
      for (const row of rows) statement.bind(row as Scalar[]).stepReset()
      statement.finalize()
    })
  },
}
expose(inWorker)
