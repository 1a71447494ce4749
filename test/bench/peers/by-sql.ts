import type { Peer, Row, Scalar } from "../peer.ts"

/** The calls of a peer whose API runs one statement at a time, in the order that they are made. */
export function bySql(
  exec: (sql: string, params?: readonly Scalar[]) => Promise<unknown>,
  all: (sql: string, params?: readonly Scalar[]) => Promise<readonly Row[]>,
): Pick<Peer, "exec" | "all" | "get" | "many"> {
  return {
    exec,
    all,
    get: async (sql, params) => (await all(sql, params))[0],
    async many(sql, rows) {
      await exec("BEGIN")
      await Promise.all(rows.map((row) => exec(sql, row)))
      await exec("COMMIT")
    },
  }
}
