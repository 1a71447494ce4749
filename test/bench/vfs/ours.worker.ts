import { Database } from "../../../src/sqlite/database.ts"
import { loadEngine } from "../../../src/sqlite/load.ts"
import { OpfsStorage } from "../../../src/storage/opfs.ts"
import { measure } from "./workloads.ts"

const run = { ranMs: 0, limitMs: Number.POSITIVE_INFINITY, stopped: undefined }

self.onmessage = async ({ data: wasm }: MessageEvent<ArrayBuffer>) => {
  const storage = await OpfsStorage.open("bench-ours")
  const engine = await loadEngine({ wasm, storage })
  await storage.remove("bench", "DB_222222222222")
  const start = performance.now()
  const files = await storage.create("bench", "DB_222222222222")
  const database = Database.create(engine, files, { region: "", createdAt: 1, expiresAt: 0, order: 1 })
  const openMs = performance.now() - start
  const scan = (sql: string): number => {
    const statement = database.writer.prepareOwn(sql)
    let rows = 0
    while (statement.step(run)) rows++
    statement.finalize()
    return rows
  }
  const times = measure(
    {
      run: (sql) => database.writer.run(sql),
      scan,
      commit: (sql) => {
        database.writer.run(sql)
        database.flush()
      },
      close: () => database.close(),
    },
    openMs,
  )
  await storage.close()
  self.postMessage(times)
}
