import { expose } from "comlink"
import type { Scalar } from "../peer.ts"
import { openPool } from "./sahpool.ts"

let pool: Awaited<ReturnType<typeof openPool>>

/** What the engine takes for itself, with nothing sent anywhere. */
const floor = {
  async open() {
    pool = await openPool()
  },
  exec(sql: string, params: readonly Scalar[]) {
    pool.db.exec({ sql, ...(params.length > 0 ? { bind: params as Scalar[] } : {}) })
  },
  many(sql: string, rows: readonly (readonly Scalar[])[]) {
    pool.db.transaction(() => {
      const statement = pool.db.prepare(sql)
      for (const row of rows) statement.bind(row as Scalar[]).stepReset()
      statement.finalize()
    })
  },
  /** Milliseconds that sqlite-wasm's own `exec` takes to objects. */
  objects(sql: string) {
    const start = performance.now()
    const rows = pool.db.exec({ sql, rowMode: "object", returnValue: "resultRows" })
    return { ms: performance.now() - start, rows: rows.length }
  },
  /** Milliseconds that stepping through all rows takes, reading none of their columns. */
  steps(sql: string) {
    const { wasm } = pool.sqlite3
    const step = wasm.exports["sqlite3_step"] as (statement: number) => number
    const statement = pool.db.prepare(sql)
    const pointer = Number(statement.pointer)
    const start = performance.now()
    let rows = 0
    while (step(pointer) === 100) rows++
    const ms = performance.now() - start
    statement.finalize()
    return { ms, rows }
  },
}
export type Floor = typeof floor
expose(floor)
