import sqlite3InitModule from "@sqlite.org/sqlite-wasm"
import { measure } from "./workloads.ts"

/** The package's own pool of access handles, as its documentation says to use it. */
self.onmessage = async ({ data }: MessageEvent<{ wasm: ArrayBuffer; journal: string }>) => {
  const init = sqlite3InitModule as unknown as (options: object) => ReturnType<typeof sqlite3InitModule>
  const sqlite3 = await init({ wasmBinary: data.wasm, locateFile: (name: string) => name })
  const start = performance.now()
  const pool = await sqlite3.installOpfsSAHPoolVfs({ name: "bench-sahpool", clearOnInit: true, initialCapacity: 6 })
  const db = new pool.OpfsSAHPoolDb("/bench.sqlite")
  const openMs = performance.now() - start
  if (data.journal === "wal") db.exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;")
  db.exec("PRAGMA synchronous=FULL; PRAGMA cache_size=-4096")
  const times = measure(
    {
      run: (sql) => void db.exec(sql),
      scan: (sql) => {
        const statement = db.prepare(sql)
        let rows = 0
        while (statement.step()) rows++
        statement.finalize()
        return rows
      },
      commit: (sql) => void db.exec(sql),
      close: () => db.close(),
    },
    openMs,
  )
  self.postMessage(times)
}
