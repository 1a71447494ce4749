import sqlite3InitModule, { type Sqlite3Static } from "@sqlite.org/sqlite-wasm"
import type { Storage } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import { Engine } from "./engine.ts"
import type { SqliteExports } from "./exports.ts"
import { Heap } from "./heap.ts"
import { Vfs } from "./vfs/vfs.ts"
import { instantiateWasm } from "./wasm.ts"

export interface LoadOptions {
  /** Where `sqlite3.wasm` is (fetched), or its bytes. */
  wasm: URL | string | BufferSource
  /** Scratch files come from here. */
  storage: Pick<Storage, "takeTemp" | "giveTemp">
  /** Bytes of wasm memory that SQLite may hold, default 1 GiB. */
  heapLimitBytes?: number
}

interface EmscriptenOptions {
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object
}

/** VFSs of the package that would cost start-up time and are never used. */
const unusedVfs = { kvvfs: true, opfs: true, "opfs-sahpool": true, "opfs-wl": true }

/** @throws AgentDBError `internal` naming the URL if the wasm cannot be had from there. */
export async function loadEngine({ wasm, storage, heapLimitBytes = 1024 ** 3 }: LoadOptions): Promise<Engine> {
  const module = await initialize(wasm)
  const sqlite = module.wasm.exports as unknown as SqliteExports
  const heap = new Heap((module.wasm as unknown as { memory: WebAssembly.Memory }).memory, sqlite)
  const vfs = new Vfs(module, heap, storage)
  return new Engine({ module, sqlite, heap, vfs, heapLimitBytes })
}

async function initialize(wasm: LoadOptions["wasm"]): Promise<Sqlite3Static> {
  // The package's own types leave out the options that every Emscripten module takes.
  const init = sqlite3InitModule as unknown as (options: EmscriptenOptions) => Promise<Sqlite3Static>
  // Read, and deleted, by the package while it starts.
  Object.assign(globalThis, { sqlite3ApiConfig: { disable: { vfs: unusedVfs } } })
  return new Promise((resolve, reject) => {
    const options: EmscriptenOptions = {
      instantiateWasm(imports, done) {
        // A failure never reaches Emscripten's promise, so it goes around it.
        instantiateWasm(wasm, imports).then(({ instance, module }) => done(instance, module), reject)
        return {}
      },
    }
    init(options).then(resolve, (error: unknown) => reject(AgentDBError.from(error)))
  })
}
