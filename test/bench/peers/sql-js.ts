import wasmUrl from "sql.js/dist/sql-wasm.wasm?url"
import workerUrl from "sql.js/dist/worker.sql-wasm.js?url&no-inline"
import type { Peer, Row, Scalar } from "../peer.ts"
import { bySql } from "./by-sql.ts"

interface Answer {
  readonly id: number
  readonly error?: string
  readonly results?: readonly { readonly columns: string[]; readonly values: unknown[][] }[]
}

/** sql.js's own worker. It keeps everything in memory: nothing is ever durable. */
export async function open(): Promise<Peer> {
  const script = (await (await fetch(workerUrl)).text()).replaceAll(
    "sql-wasm.wasm",
    new URL(wasmUrl, location.href).href,
  )
  const source = `self.Module = { locateFile: () => "${new URL(wasmUrl, location.href).href}" };${script}`
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))
  const waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>()
  worker.onmessage = ({ data }: MessageEvent<Answer>) => {
    const call = waiting.get(data.id)
    waiting.delete(data.id)
    if (data.error) call?.reject(new Error(data.error))
    else call?.resolve(data)
  }
  let next = 0
  const call = (message: Record<string, unknown>) =>
    new Promise<Answer>((resolve, reject) => {
      const id = next++
      waiting.set(id, { resolve, reject })
      worker.postMessage({ id, ...message })
    })
  await call({ action: "open" })
  const exec = (sql: string, params: readonly Scalar[] = []) => call({ action: "exec", sql, params })
  const all = async (sql: string, params: readonly Scalar[] = []): Promise<Row[]> => {
    const [result] = (await exec(sql, params)).results ?? []
    return (result?.values ?? []).map((values) =>
      Object.fromEntries((result?.columns ?? []).map((name, at) => [name, values[at]])),
    )
  }
  return {
    durable: false,
    dialect: "sqlite",
    ...bySql(exec, all),
  }
}
