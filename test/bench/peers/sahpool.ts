import sqlite3InitModule from "@sqlite.org/sqlite-wasm"

/** sqlite-wasm with its pool on OPFS, in the journal mode and synchronous setting that it comes with. */
export async function openPool() {
  const sqlite3 = await sqlite3InitModule()
  const pool = await sqlite3.installOpfsSAHPoolVfs({ name: "bench-pool" })
  return { sqlite3, db: new pool.OpfsSAHPoolDb("/bench.db") }
}
