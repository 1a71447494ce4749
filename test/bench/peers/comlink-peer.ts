import { type Remote, wrap } from "comlink"
import type { Peer, Row, Scalar } from "../peer.ts"

/** What a worker of a peer without a page side of its own offers. */
export interface InWorker {
  exec(sql: string, params: readonly Scalar[]): void | Promise<void>
  all(sql: string, params: readonly Scalar[]): readonly Row[] | Promise<readonly Row[]>
  many(sql: string, rows: readonly (readonly Scalar[])[]): void | Promise<void>
}

export interface WorkerModule {
  open(): Promise<void>
}

export async function overComlink(worker: Worker, durable = true): Promise<Peer> {
  const remote: Remote<InWorker & WorkerModule> = wrap<InWorker & WorkerModule>(worker)
  await remote.open()
  return {
    durable,
    dialect: "sqlite",
    exec: (sql, params = []) => remote.exec(sql, params),
    all: (sql) => remote.all(sql, []),
    get: async (sql, params) => (await remote.all(sql, params))[0],
    many: (sql, rows) => remote.many(sql, rows),
  }
}
