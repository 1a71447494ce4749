import type { Sqlite3Static } from "@sqlite.org/sqlite-wasm"
import { MemoryFile } from "../../storage/memory-file.ts"
import type { DatabaseFiles, Storage } from "../../storage/storage.ts"
import { OpenFlag, Rc } from "../constants.ts"
import type { Heap } from "../heap.ts"
import { ioResult } from "./io-error.ts"
import { createIoMethods, type OpenFiles } from "./io-methods.ts"
import { Mount } from "./mount.ts"
import type { OpenFile } from "./open-file.ts"

const vfsName = "agentdb"

const walSuffix = "-wal"
const longestPath = 1024
/** Of a sqlite3_file: the address of its methods. */
const handleBytes = 4
/** Bytes of a scratch file when the storage has none at hand; a sorter that needs more gets SQLITE_FULL. */
const scratchLimit = 256 * 1024 * 1024
const julianEpochMs = 210_866_760_000_000

/** What the constructor of a struct binder looks like; its types leave out how members are set by name. */
interface Binder {
  pointer: number
  [member: `$${string}`]: number
}

/**
 * SQLite's file system over SyncFile, whatever is behind it: OPFS or memory, in a browser or in Node.
 * Only what has been mounted can be opened, so no path ever reaches a directory.
 */
export class Vfs implements OpenFiles {
  readonly #heap: Heap
  readonly #storage: Pick<Storage, "takeTemp" | "giveTemp">
  readonly #mounts = new Map<string, Mount>()
  readonly #open = new Map<number, OpenFile>()
  /** Address of its name, for sqlite3_open_v2. */
  readonly namePointer: number
  readonly #ioMethods: number

  constructor(module: Sqlite3Static, heap: Heap, storage: Pick<Storage, "takeTemp" | "giveTemp">) {
    this.#heap = heap
    this.#storage = storage
    this.namePointer = heap.allocateText(vfsName).pointer
    const io = new module.capi.sqlite3_io_methods() as unknown as Binder
    const vfs = new module.capi.sqlite3_vfs() as unknown as Binder
    io.$iVersion = 2
    vfs.$iVersion = 2
    vfs.$szOsFile = handleBytes
    vfs.$mxPathname = longestPath
    vfs.$zName = this.namePointer
    this.#borrowRandomness(module, vfs)
    this.#ioMethods = io.pointer
    const install = module.vfs.installVfs as unknown as (parts: object) => void
    install({
      io: { struct: io, methods: createIoMethods(this, heap) },
      vfs: { struct: vfs, methods: this.#methods() },
    })
  }

  /** Makes the files of a database known under their path. */
  mount(files: DatabaseFiles): Mount {
    if (this.#mounts.has(files.path)) throw new Error(`${files.path} is mounted already`)
    const mount = new Mount(files, this.#heap)
    this.#mounts.set(files.path, mount)
    return mount
  }

  /** Call after the last connection is closed. */
  unmount(mount: Mount): void {
    this.#mounts.delete(mount.files.path)
  }

  get(handle: number): OpenFile | undefined {
    return this.#open.get(handle)
  }

  close(handle: number): void {
    const open = this.#open.get(handle)
    this.#open.delete(handle)
    open?.mount?.locks.unlock(handle, 0)
    if (open?.kind === "temp" && open.pooled) this.#storage.giveTemp(open.file)
  }

  #methods() {
    return {
      xOpen: (_vfs: number, name: number, handle: number, flags: number, flagsOut: number): number => {
        try {
          const file = this.#find(name, flags)
          if (!file) return Rc.CANTOPEN
          this.#open.set(handle, file)
          // pMethods is the one member of sqlite3_file.
          this.#heap.setU32(handle, this.#ioMethods)
          if (flagsOut !== 0) this.#heap.setU32(flagsOut, flags)
          return Rc.OK
        } catch (error) {
          return ioResult(error, Rc.CANTOPEN)
        }
      },
      xDelete: (_vfs: number, name: number, _syncFolder: number): number => {
        const path = this.#heap.text(name)
        const mount = path.endsWith(walSuffix) ? this.#mounts.get(path.slice(0, -walSuffix.length)) : undefined
        // There is no journal to delete, and no deletion of the main file by the engine.
        if (!mount) return Rc.OK
        if (mount.sealed) return Rc.IOERR_DELETE
        try {
          mount.wal.truncate(0)
          mount.wal.flush()
          return Rc.OK
        } catch (error) {
          return ioResult(error, Rc.IOERR_DELETE)
        }
      },
      xAccess: (_vfs: number, name: number, _flags: number, out: number): number => {
        const path = this.#heap.text(name)
        this.#heap.setU32(out, this.#exists(path) ? 1 : 0)
        return Rc.OK
      },
      xFullPathname: (_vfs: number, name: number, bytes: number, out: number): number => {
        const heap = this.#heap.bytes
        const end = heap.indexOf(0, name) + 1
        if (end - name > bytes) return Rc.CANTOPEN
        heap.copyWithin(out, name, end)
        return Rc.OK
      },
      /** Nobody else runs in this thread, so waiting would change nothing. */
      xSleep: (_vfs: number, _microseconds: number): number => 0,
      xCurrentTime: (_vfs: number, out: number): number => {
        this.#heap.view.setFloat64(out, (julianEpochMs + Date.now()) / 86_400_000, true)
        return Rc.OK
      },
      xCurrentTimeInt64: (_vfs: number, out: number): number => {
        this.#heap.setI64(out, julianEpochMs + Date.now())
        return Rc.OK
      },
      xGetLastError: (_vfs: number, _bytes: number, _out: number): number => 0,
    }
  }

  #find(name: number, flags: number): OpenFile | undefined {
    if (flags & OpenFlag.MAIN_DB) {
      const mount = this.#mounts.get(this.#heap.text(name))
      return mount && { kind: "main", file: mount.files.main, mount }
    }
    if (flags & OpenFlag.WAL) {
      const mount = this.#mounts.get(this.#heap.text(name).slice(0, -walSuffix.length))
      return mount && { kind: "wal", file: mount.wal, mount }
    }
    // Databases are in WAL mode from their first byte and there is nothing to attach.
    if (flags & (OpenFlag.MAIN_JOURNAL | OpenFlag.SUPER_JOURNAL)) return undefined
    const pooled = this.#storage.takeTemp()
    return pooled
      ? { kind: "temp", file: pooled, pooled: true, mount: undefined }
      : { kind: "temp", file: new MemoryFile(scratchLimit), pooled: false, mount: undefined }
  }

  #exists(path: string): boolean {
    if (this.#mounts.has(path)) return true
    if (!path.endsWith(walSuffix)) return false
    const mount = this.#mounts.get(path.slice(0, -walSuffix.length))
    return mount !== undefined && mount.wal.getSize() > 0
  }

  #borrowRandomness(module: Sqlite3Static, vfs: Binder): void {
    const standard = new module.capi.sqlite3_vfs(module.capi.sqlite3_vfs_find(null) as never) as unknown as Binder & {
      dispose(): void
    }
    vfs.$xRandomness = standard.$xRandomness as number
    standard.dispose()
  }
}
