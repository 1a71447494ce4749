import { Database } from "../../src/sqlite/database.ts"
import type { Engine } from "../../src/sqlite/engine.ts"
import { MemoryStorage } from "../../src/storage/memory.ts"
import { attributes, databaseId, project, query } from "../fixtures/engine.ts"
import type { Cell } from "../fixtures/wire-peer.ts"
import { State } from "./model.ts"

/** Reads the whole content through whatever answers SQL. Throws if the file is not sound. */
export async function readState(rowsOf: (sql: string) => Promise<readonly (readonly unknown[])[]>): Promise<State> {
  const state = new State()
  const check = await rowsOf("PRAGMA integrity_check")
  if (check[0]?.[0] !== "ok") throw new Error(`integrity_check: ${JSON.stringify(check)}`)
  const whole = (cell: unknown): bigint => BigInt(cell as bigint | number)
  for (const [k, v] of await rowsOf("SELECT k, v FROM t")) state.t.set(whole(k), v as Cell)
  for (const [id] of await rowsOf("SELECT id FROM p")) state.p.add(whole(id))
  for (const [id, parent] of await rowsOf("SELECT id, p FROM c")) state.c.set(whole(id), whole(parent))
  const [hasX] = await rowsOf("SELECT 1 FROM sqlite_schema WHERE name = 'x'")
  if (hasX) state.x = Number((await rowsOf("SELECT count(*) FROM x"))[0]?.[0])
  state.version = Number((await rowsOf("PRAGMA user_version"))[0]?.[0])
  return state
}

/** The content of a copy that was dumped. */
export async function readDump(engine: Engine, file: Blob): Promise<State> {
  const database = await openDump(engine, file)
  const reader = database.takeReader()
  try {
    return await readState(async (sql) => query(reader, sql).map((row) => row.map(exact)))
  } finally {
    database.abandon()
  }
}

/** A copy that was dumped, as a database in memory. Whoever opens it abandons it. */
export async function openDump(engine: Engine, file: Blob): Promise<Database> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  // Our VFS opens databases in WAL mode only.
  bytes.fill(2, 18, 20)
  const storage = new MemoryStorage()
  Database.create(engine, await storage.create(project, databaseId), attributes).close()
  const files = await storage.open(project, databaseId)
  files.main.truncate(0)
  files.main.write(bytes, { at: 0 })
  return Database.open(engine, files)
}

/** Whole numbers as the other codec gives them. */
function exact(cell: unknown): unknown {
  return typeof cell === "number" && Number.isSafeInteger(cell) ? BigInt(cell) : cell
}
