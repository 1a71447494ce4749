import * as SQLite from "wa-sqlite"
import SQLiteESMFactory from "wa-sqlite/dist/wa-sqlite.mjs"
import wasmUrl from "wa-sqlite/dist/wa-sqlite.wasm?url"
import { AccessHandlePoolVFS } from "wa-sqlite/src/examples/AccessHandlePoolVFS.js"
import { exposeWaSqlite } from "./wa-sqlite-worker.ts"

exposeWaSqlite(async () => {
  const sqlite3 = SQLite.Factory(await SQLiteESMFactory({ locateFile: () => wasmUrl }))
  const vfs = new AccessHandlePoolVFS("/bench-wa-sqlite")
  await vfs.isReady
  sqlite3.vfs_register(vfs, true)
  return { sqlite3, db: await sqlite3.open_v2("bench") }
})
