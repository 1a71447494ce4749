import { AgentDBError } from "../wire/errors.ts"
import { acquire, entryNames, findFile, findFolder, moveFile, removeEntry } from "./opfs-handles.ts"
import { checkId, databaseNotFound, databasePath, decodeSegment, encodeSegment } from "./paths.ts"
import { ScratchPool } from "./scratch-pool.ts"
import type { DatabaseFiles, DumpFile, DumpName, Storage, SyncFile } from "./storage.ts"

const formatVersion = 1
const fileNames = { main: "data.sqlite", wal: "data.sqlite-wal", meta: "meta" } as const
const dumpPrefix = "dump-"
/** A dump has this name until all of it is there. */
const unfinishedPrefix = "unfinished-dump-"
/** No project's folder begins with a dot. */
const scratchFolder = ".scratch"

/**
 * Databases in the origin private file system: `/<name>/<project>/<DB_id>/`. For dedicated workers; the handles
 * keep any other worker out.
 */
export class OpfsStorage implements Storage {
  readonly kind = "opfs"
  readonly #root: FileSystemDirectoryHandle
  readonly #scratch: ScratchPool

  private constructor(root: FileSystemDirectoryHandle, scratch: ScratchPool) {
    this.#root = root
    this.#scratch = scratch
  }

  /**
   * @param name of the service within the origin.
   * @throws AgentDBError `failed_precondition` if a newer version of this package has written there
   */
  static async open(name: string): Promise<OpfsStorage> {
    const origin = await navigator.storage.getDirectory()
    const root = await origin.getDirectoryHandle(encodeSegment(name), { create: true })
    await checkFormat(root)
    const scratch = await root.getDirectoryHandle(scratchFolder, { create: true })
    return new OpfsStorage(root, new ScratchPool(scratch))
  }

  async projects(): Promise<string[]> {
    const names = await entryNames(this.#root, "directory")
    return names.map(decodeSegment).filter((name) => name !== undefined)
  }

  async databases(project: string): Promise<string[]> {
    const folder = await findFolder(this.#root, encodeSegment(project))
    return folder ? entryNames(folder, "directory") : []
  }

  async readMeta(project: string, id: string): Promise<Uint8Array | undefined> {
    const folder = await this.#find(project, id)
    // Removal takes the main file first.
    if (!folder || !(await findFile(folder, fileNames.main))) return undefined
    const meta = await findFile(folder, fileNames.meta)
    return meta && new Uint8Array(await (await meta.getFile()).arrayBuffer())
  }

  async create(project: string, id: string): Promise<DatabaseFiles> {
    const path = databasePath(project, id)
    if (await this.#find(project, id)) throw new AgentDBError("already_exists", `database ${id} exists`)
    const parent = await this.#root.getDirectoryHandle(encodeSegment(project), { create: true })
    const folder = await parent.getDirectoryHandle(id, { create: true })
    return acquireFiles(path, folder)
  }

  async open(project: string, id: string): Promise<DatabaseFiles> {
    const folder = await this.#find(project, id)
    // The order of removal makes the main file the one that tells whether the database is there.
    if (!folder || !(await findFile(folder, fileNames.main))) throw databaseNotFound(id)
    return acquireFiles(databasePath(project, id), folder)
  }

  async remove(project: string, id: string): Promise<void> {
    const folder = await this.#find(project, id)
    const parent = folder && (await findFolder(this.#root, encodeSegment(project)))
    if (!folder || !parent) return
    await removeEntry(folder, fileNames.main)
    await removeEntry(folder, fileNames.wal)
    await removeEntry(folder, fileNames.meta)
    await removeEntry(parent, id, true)
  }

  takeTemp(): SyncFile | undefined {
    return this.#scratch.take()
  }

  giveTemp(file: SyncFile): void {
    this.#scratch.give(file)
  }

  async createDump(project: string, id: string, name: string): Promise<DumpFile> {
    const folder = await this.#find(project, id)
    if (!folder) throw databaseNotFound(id)
    const fileName = dumpPrefix + encodeSegment(name)
    if (await findFile(folder, fileName)) throw new AgentDBError("already_exists", `dump ${name} exists`)
    const handle = await folder.getFileHandle(unfinishedPrefix + encodeSegment(name), { create: true })
    const file = await acquire(handle)
    return {
      file,
      async publish() {
        file.close()
        await moveFile(handle, folder, fileName)
        return handle.getFile()
      },
      discard: async () => {
        file.close()
        await this.removeDump(project, id, name)
      },
    }
  }

  async dumps(): Promise<DumpName[]> {
    const found: DumpName[] = []
    for (const project of await this.projects()) {
      for (const id of await this.databases(project)) {
        const folder = await this.#find(project, id).catch(() => undefined)
        const names = folder ? await entryNames(folder, "file") : []
        for (const fileName of names) {
          const prefix = [dumpPrefix, unfinishedPrefix].find((candidate) => fileName.startsWith(candidate))
          const name = prefix && decodeSegment(fileName.slice(prefix.length))
          if (name !== undefined) found.push({ project, id, name, unfinished: prefix === unfinishedPrefix })
        }
      }
    }
    return found
  }

  async removeDump(project: string, id: string, name: string): Promise<void> {
    const folder = await this.#find(project, id)
    if (!folder) return
    for (const prefix of [unfinishedPrefix, dumpPrefix]) await removeEntry(folder, prefix + encodeSegment(name))
  }

  async close(): Promise<void> {
    await this.#scratch.close()
  }

  async #find(project: string, id: string): Promise<FileSystemDirectoryHandle | undefined> {
    const parent = await findFolder(this.#root, encodeSegment(project))
    return parent && findFolder(parent, checkId(id))
  }
}

/** All three or none; what was written before a crash is flushed before anyone reads it. */
async function acquireFiles(path: string, folder: FileSystemDirectoryHandle): Promise<DatabaseFiles> {
  const open: SyncFile[] = []
  const take = async (name: string): Promise<SyncFile> => {
    const file = await acquire(await folder.getFileHandle(name, { create: true }))
    open.push(file)
    file.flush()
    return file
  }
  const close = (): void => {
    for (const file of open.splice(0)) file.close()
  }
  try {
    // The main file last: it is there only if the others are.
    const meta = await take(fileNames.meta)
    const wal = await take(fileNames.wal)
    const main = await take(fileNames.main)
    return { path, main, wal, meta, close }
  } catch (error) {
    close()
    throw error
  }
}

async function checkFormat(root: FileSystemDirectoryHandle): Promise<void> {
  const found = await findFile(root, "format")
  const text = found ? await (await found.getFile()).text() : ""
  if (text === "") {
    const file = await acquire(await root.getFileHandle("format", { create: true }))
    file.write(new TextEncoder().encode(String(formatVersion)), { at: 0 })
    file.flush()
    file.close()
  } else if (!/^\d+$/.test(text) || Number(text) > formatVersion) {
    throw new AgentDBError(
      "failed_precondition",
      `the stored data has format ${text}, which is newer than this version`,
    )
  }
}
