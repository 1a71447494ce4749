import type { Connection, Executor, Param, Value } from "agentdb-web/client"

/** Whole numbers from 0 on, in a column `x`. */
export const numbers = (count: number): string =>
  `WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c LIMIT ${count}) SELECT x FROM c`

/** Never ends by itself, and gives no row. */
export const runaway = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c"

/** Batches of one row each. */
export const oneRow = { firstBatchBytes: 1, batchBytes: 1 }

/** The rows as arrays. */
export const rows = (db: Executor, sql: string, params: readonly Param[] = []): Promise<Value[][]> =>
  db.query(sql, params, { rowMode: "array" }).all()

/** The first column of the rows. */
export const list = async (db: Executor, sql: string, params: readonly Param[] = []): Promise<Value[]> =>
  (await rows(db, sql, params)).map(([value]) => value as Value)

/** The ways by which SQL reaches the service. */
export type Path = "exec" | "query" | "batch" | "transaction"
export const paths: readonly Path[] = ["exec", "query", "batch", "transaction"]

/** Runs a statement on a path; what it gives is not of interest. */
export function onPath(db: Connection, path: Path, sql: string, params?: readonly Param[]): Promise<unknown> {
  switch (path) {
    case "exec":
      return db.exec(sql, params)
    case "query":
      return db.query(sql, params).all()
    case "batch":
      return db.batch([{ sql, ...(params && { params }) }])
    case "transaction":
      return db.transaction((tx) => tx.exec(sql, params))
  }
}
