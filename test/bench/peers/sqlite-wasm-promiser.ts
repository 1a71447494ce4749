import { sqlite3Worker1Promiser } from "@sqlite.org/sqlite-wasm"
import type { Peer, Row, Scalar } from "../peer.ts"
import { bySql } from "./by-sql.ts"

type Promiser = (type: string, args: Record<string, unknown>) => Promise<{ result: { resultRows?: Row[] } }>

export async function open(): Promise<Peer> {
  const promiser = (await sqlite3Worker1Promiser()) as unknown as Promiser
  await promiser("open", { filename: "file:bench.db?vfs=opfs" })
  const exec = (sql: string, bind?: readonly Scalar[]) =>
    promiser("exec", { sql, ...(bind && bind.length > 0 ? { bind } : {}) })
  const all = async (sql: string, bind: readonly Scalar[] = []) => {
    const { result } = await promiser("exec", {
      sql,
      ...(bind.length > 0 ? { bind } : {}),
      rowMode: "object",
      resultRows: [],
    })
    return result.resultRows ?? []
  }
  return {
    durable: true,
    dialect: "sqlite",
    ...bySql(exec, all),
  }
}
