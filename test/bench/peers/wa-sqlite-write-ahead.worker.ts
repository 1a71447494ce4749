import * as SQLite from "@journeyapps/wa-sqlite"
import SQLiteESMFactory from "@journeyapps/wa-sqlite/dist/wa-sqlite.mjs"
import wasmUrl from "@journeyapps/wa-sqlite/dist/wa-sqlite.wasm?url"
import { OPFSWriteAheadVFS } from "@journeyapps/wa-sqlite/src/examples/OPFSWriteAheadVFS.js"
import { exposeWaSqlite } from "./wa-sqlite-worker.ts"

exposeWaSqlite(async () => {
  const module = await SQLiteESMFactory({ locateFile: () => wasmUrl })
  const sqlite3 = SQLite.Factory(module)
  sqlite3.vfs_register(await OPFSWriteAheadVFS.create("write-ahead", module), true)
  return { sqlite3, db: await sqlite3.open_v2("bench.db") }
})
