import { AgentDBError } from "../wire/errors.ts"
import { MemoryFile } from "./memory-file.ts"
import { checkId, databaseNotFound, databasePath } from "./paths.ts"
import type { DatabaseFiles, DumpFile, DumpName, RawFile, Storage, SyncFile } from "./storage.ts"

interface Folder {
  readonly main: MemoryFile
  readonly wal: MemoryFile
  readonly meta: MemoryFile
  readonly dumps: Map<string, { unfinished: boolean }>
}

/** Databases that live as long as this object: for Node, for tests and for contexts without OPFS. */
export class MemoryStorage implements Storage {
  readonly kind = "memory"
  readonly #projects = new Map<string, Map<string, Folder>>()

  async projects(): Promise<string[]> {
    return [...this.#projects.keys()]
  }

  async databases(project: string): Promise<string[]> {
    return [...(this.#projects.get(project)?.keys() ?? [])]
  }

  async isThere(): Promise<boolean> {
    return true
  }

  async isDatabaseThere(project: string, id: string): Promise<boolean> {
    return this.#find(project, id) !== undefined
  }

  async rawFiles(project: string, id: string): Promise<RawFile[]> {
    const { main, wal, meta } = this.#get(project, id)
    return Object.entries({ "data.sqlite": main, "data.sqlite-wal": wal, meta }).map(([name, file]) => ({
      name,
      content: new Blob(file.parts()),
    }))
  }

  async readMeta(project: string, id: string): Promise<Uint8Array | undefined> {
    const meta = this.#find(project, id)?.meta
    if (!meta) return undefined
    const bytes = new Uint8Array(meta.getSize())
    meta.read(bytes, { at: 0 })
    return bytes
  }

  async create(project: string, id: string): Promise<DatabaseFiles> {
    const path = databasePath(project, id)
    if (this.#find(project, id)) throw new AgentDBError("already_exists", `database ${id} exists`)
    const folder = { main: new MemoryFile(), wal: new MemoryFile(), meta: new MemoryFile(), dumps: new Map() }
    const folders = this.#projects.get(project) ?? new Map<string, Folder>()
    this.#projects.set(project, folders.set(id, folder))
    return openFiles(path, folder)
  }

  async open(project: string, id: string): Promise<DatabaseFiles> {
    return openFiles(databasePath(project, id), this.#get(project, id))
  }

  async remove(project: string, id: string): Promise<void> {
    const folders = this.#projects.get(project)
    folders?.delete(checkId(id))
    if (folders?.size === 0) this.#projects.delete(project)
  }

  takeTemp(): SyncFile | undefined {
    return undefined
  }

  giveTemp(_file: SyncFile): void {}

  async createDump(project: string, id: string, name: string): Promise<DumpFile> {
    const { dumps } = this.#get(project, id)
    if (dumps.has(name)) throw new AgentDBError("already_exists", `dump ${name} exists`)
    const file = new MemoryFile()
    const dump = { unfinished: true }
    dumps.set(name, dump)
    return {
      file,
      async publish() {
        dump.unfinished = false
        return new Blob(file.parts(), { type: "application/vnd.sqlite3" })
      },
      discard: async () => void dumps.delete(name),
    }
  }

  async dumps(): Promise<DumpName[]> {
    const found: DumpName[] = []
    for (const [project, folders] of this.#projects) {
      for (const [id, { dumps }] of folders) {
        for (const [name, { unfinished }] of dumps) found.push({ project, id, name, unfinished })
      }
    }
    return found
  }

  async removeDump(project: string, id: string, name: string): Promise<void> {
    this.#find(project, id)?.dumps.delete(name)
  }

  async close(): Promise<void> {}

  #find(project: string, id: string): Folder | undefined {
    return this.#projects.get(project)?.get(id)
  }

  #get(project: string, id: string): Folder {
    const folder = this.#find(project, id)
    if (!folder) throw databaseNotFound(id)
    return folder
  }
}

function openFiles(path: string, { main, wal, meta }: Folder): DatabaseFiles {
  return { path, main, wal, meta, close() {} }
}
