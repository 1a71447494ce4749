import { expose } from "comlink"
import type { Factory } from "wa-sqlite"
import type { Row, Scalar } from "../peer.ts"
import type { InWorker, WorkerModule } from "./comlink-peer.ts"

/** The same in both houses of wa-sqlite. */
type WaSqlite = ReturnType<typeof Factory>

const SQLITE_ROW = 100

/** Offers a database of wa-sqlite to the page. */
export function exposeWaSqlite(openDatabase: () => Promise<{ sqlite3: WaSqlite; db: number }>): void {
  let opened: { sqlite3: WaSqlite; db: number }
  async function run(sql: string, paramSets: readonly (readonly Scalar[])[]): Promise<Row[]> {
    const { sqlite3, db } = opened
    const rows: Row[] = []
    for await (const statement of sqlite3.statements(db, sql)) {
      const names = sqlite3.column_names(statement)
      for (const params of paramSets) {
        if (params.length > 0) sqlite3.bind_collection(statement, params as Scalar[])
        while ((await sqlite3.step(statement)) === SQLITE_ROW) {
          const values = sqlite3.row(statement)
          rows.push(Object.fromEntries(names.map((name, at) => [name, copied(values[at])])))
        }
        await sqlite3.reset(statement)
      }
    }
    return rows
  }
  const inWorker: InWorker & WorkerModule = {
    async open() {
      opened = await openDatabase()
      await run("PRAGMA synchronous=FULL", [[]])
    },
    async exec(sql, params) {
      await run(sql, [params])
    },
    all: (sql, params) => run(sql, [params]),
    async many(sql, rows) {
      await run("BEGIN", [[]])
      await run(sql, rows)
      await run("COMMIT", [[]])
    },
  }
  expose(inWorker)
}

/** Blobs are views of the engine's memory. */
const copied = (value: unknown) => (value instanceof Uint8Array ? value.slice() : value)
