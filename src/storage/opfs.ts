import { AgentDBError } from "../wire/errors.ts"
import { randomId } from "../wire/random-id.ts"
import { allErased } from "./erased.ts"
import { acquire, entryNames, findFile, findFolder, moveFile, removeEntry } from "./opfs-handles.ts"
import { checkId, databaseNotFound, databasePath, decodeSegment, encodeSegment, isDatabaseId } from "./paths.ts"
import { ScratchPool } from "./scratch-pool.ts"
import type { DatabaseFiles, DumpFile, DumpName, RawFile, Storage, SyncFile } from "./storage.ts"

const formatVersion = 1
/** Holds the version, and in a second line the identity. */
const formatName = "format"
const formatPattern = /^([1-9]\d{0,8})(?:\n([0-9a-f]{32}))?\0*$/
const fileNames = { main: "data.sqlite", wal: "data.sqlite-wal", meta: "meta" } as const
/** The main file of a database whose removal has begun. */
const removedName = "removed"
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
  /** Made with the storage: tells it from one that took its place. */
  readonly identity: string
  readonly #root: FileSystemDirectoryHandle
  readonly #scratch: ScratchPool

  private constructor(identity: string, root: FileSystemDirectoryHandle, scratch: ScratchPool) {
    this.identity = identity
    this.#root = root
    this.#scratch = scratch
  }

  /**
   * @param name of the service within the origin.
   * @param o.origin where all of the origin's files are, unless it is this worker's own
   * @param o.identity of the storage that has to be there; without it a new one is made where there is none.
   * @throws AgentDBError `failed_precondition` if a newer version of this package has written there, `data_loss` if
   * the storage asked for is gone
   */
  static async open(
    name: string,
    o: { origin?: FileSystemDirectoryHandle; identity?: string | undefined } = {},
  ): Promise<OpfsStorage> {
    const top = o.origin ?? (await navigator.storage.getDirectory())
    const folder = encodeSegment(name)
    if (o.identity !== undefined) await checkIdentity(await findFolder(top, folder), o.identity)
    const root = await top.getDirectoryHandle(folder, { create: true })
    const identity = await checkFormat(root)
    const scratch = await root.getDirectoryHandle(scratchFolder, { create: true })
    return new OpfsStorage(identity, root, new ScratchPool(scratch))
  }

  async isThere(): Promise<boolean> {
    return (await readIdentity(this.#root)) === this.identity
  }

  async projects(): Promise<string[]> {
    const names = await entryNames(this.#root, "directory")
    return names.map(decodeSegment).filter((name) => name !== undefined)
  }

  async databases(project: string): Promise<string[]> {
    const folder = await findFolder(this.#root, encodeSegment(project))
    const names = folder ? await entryNames(folder, "directory") : []
    return names.filter(isDatabaseId)
  }

  async readMeta(project: string, id: string): Promise<Uint8Array | undefined> {
    const folder = await this.#find(project, id)
    if (!folder || (await findFile(folder, removedName))) return undefined
    const [main, wal, meta] = await Promise.all([
      read(folder, fileNames.main),
      read(folder, fileNames.wal),
      read(folder, fileNames.meta),
    ])
    if (main && meta) return new Uint8Array(await meta.arrayBuffer())
    // A creation has its files, empty, before it writes to one; a removal leaves what is left to nobody.
    if (!main?.size && !wal?.size && !meta?.size) return undefined
    throw fileMissing(main ? fileNames.meta : fileNames.main)
  }

  async isDatabaseThere(project: string, id: string): Promise<boolean> {
    const folder = await this.#find(project, id)
    if (!folder) return false
    const found = await Promise.all(Object.values(fileNames).map((name) => findFile(folder, name)))
    return found.every((file) => file !== undefined)
  }

  async rawFiles(project: string, id: string): Promise<RawFile[]> {
    const folder = await this.#find(project, id)
    if (!folder) throw databaseNotFound(id)
    const files = await Promise.all(
      Object.values(fileNames).map(async (name) => ({ name, content: await read(folder, name) })),
    )
    return files.flatMap(({ name, content }) => (content ? [{ name, content }] : []))
  }

  async create(project: string, id: string): Promise<DatabaseFiles> {
    const path = databasePath(project, id)
    if (await this.#find(project, id)) throw new AgentDBError("already_exists", `database ${id} exists`)
    const parent = await this.#root.getDirectoryHandle(encodeSegment(project), { create: true })
    try {
      const folder = await parent.getDirectoryHandle(id, { create: true })
      return await acquireFiles(path, folder, true)
    } catch (error) {
      await this.remove(project, id).catch(() => {})
      throw error
    }
  }

  async open(project: string, id: string): Promise<DatabaseFiles> {
    const folder = await this.#find(project, id)
    if (!folder || (await findFile(folder, removedName))) throw databaseNotFound(id)
    return acquireFiles(databasePath(project, id), folder, false)
  }

  async remove(project: string, id: string): Promise<void> {
    const folder = await this.#find(project, id)
    const parent = folder && (await findFolder(this.#root, encodeSegment(project)))
    if (!folder || !parent) return
    // One step decides: from here on every start goes on with the removal. Without it a missing file is damage.
    // A new file would need room, which a full disk has not.
    const main = await findFile(folder, fileNames.main)
    if (main) await moveFile(main, folder, removedName)
    for (const name of [fileNames.wal, fileNames.meta, removedName]) await removeEntry(folder, name)
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
async function acquireFiles(path: string, folder: FileSystemDirectoryHandle, isNew: boolean): Promise<DatabaseFiles> {
  const open: SyncFile[] = []
  const take = async (name: string, create: boolean): Promise<SyncFile> => {
    const handle = create ? await folder.getFileHandle(name, { create }) : await findFile(folder, name)
    if (!handle) throw fileMissing(name)
    const file = await acquire(handle)
    open.push(file)
    file.flush()
    return file
  }
  const close = (): void => {
    for (const file of open.splice(0)) file.close()
  }
  try {
    const meta = await take(fileNames.meta, isNew)
    // Whether one may be missing, the mark in the meta file tells.
    const wal = await take(fileNames.wal, true)
    const main = await take(fileNames.main, isNew)
    return { path, main, wal, meta, close }
  } catch (error) {
    close()
    throw error
  }
}

const fileMissing = (name: string): AgentDBError =>
  new AgentDBError("data_loss", `the file ${name} of the database is missing`)

async function read(folder: FileSystemDirectoryHandle, name: string): Promise<File | undefined> {
  return (await findFile(folder, name))?.getFile()
}

async function readText(folder: FileSystemDirectoryHandle, name: string): Promise<string | undefined> {
  return (await read(folder, name))?.text()
}

/** @throws AgentDBError `data_loss` unless this is the very storage */
async function checkIdentity(root: FileSystemDirectoryHandle | undefined, identity: string): Promise<void> {
  if (!root || (await readIdentity(root)) !== identity) throw allErased()
}

async function readIdentity(root: FileSystemDirectoryHandle): Promise<string | undefined> {
  return formatPattern.exec((await readText(root, formatName)) ?? "")?.[2]
}

/**
 * @returns the identity
 * @throws AgentDBError `failed_precondition` for a newer format, `data_loss` for one that is none
 */
async function checkFormat(root: FileSystemDirectoryHandle): Promise<string> {
  const text = (await readText(root, formatName)) ?? ""
  const [, version, identity] = formatPattern.exec(text) ?? []
  if (Number(version) > formatVersion) {
    const known = `this version of agentdb-web knows up to ${formatVersion}`
    throw new AgentDBError(
      "failed_precondition",
      `the stored data has format ${version}, and ${known}: use a newer one`,
    )
  }
  if (identity !== undefined) return identity
  // A first start that was cut left it empty, or allotted and not written.
  if (version !== undefined || /^\0*$/.test(text)) return writeFormat(root)
  throw new AgentDBError("data_loss", "the file that tells the format is damaged")
}

async function writeFormat(root: FileSystemDirectoryHandle): Promise<string> {
  const identity = randomId()
  const file = await acquire(await root.getFileHandle(formatName, { create: true }))
  file.write(new TextEncoder().encode(`${formatVersion}\n${identity}`), { at: 0 })
  file.flush()
  file.close()
  return identity
}
