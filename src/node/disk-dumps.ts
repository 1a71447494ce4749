import { closeSync, ftruncateSync, mkdirSync, openAsBlob, openSync, readSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { MemoryStorage } from "../storage/memory.ts"
import type { DumpFile, SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"

/**
 * Databases in memory, and their dumps in files: a copy of each of them for its fifteen minutes would be more than the
 * databases themselves. Of a dump that is finished only the file is left, and whoever serves it has that.
 */
export class DiskDumpStorage extends MemoryStorage {
  readonly #folder: string
  readonly #paths = new WeakMap<Blob, string>()
  #made = 0

  /** @param folder made when it is needed, and erased by whoever gave it. */
  constructor(folder: string) {
    super()
    this.#folder = folder
  }

  /** Where the content of a dump lies, for who takes it over and erases it. */
  pathOf(dump: Blob): string {
    const path = this.#paths.get(dump)
    if (path === undefined) throw new Error("not a dump of this storage")
    return path
  }

  override async createDump(): Promise<DumpFile> {
    const path = join(this.#folder, `${++this.#made}.sqlite`)
    const file = this.#newFile(path)
    return {
      file,
      publish: async () => {
        file.close()
        const dump = await openAsBlob(path, { type: "application/vnd.sqlite3" })
        this.#paths.set(dump, path)
        return dump
      },
      async discard() {
        file.close()
        rmSync(path, { force: true })
      },
    }
  }

  override async removeDump(): Promise<void> {}

  #newFile(path: string): DiskFile {
    try {
      // Only this user's, since a database may be; anew where a cleaner of old files has been.
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      return new DiskFile(path)
    } catch (cause) {
      const why = AgentDBError.from(cause).message
      throw new AgentDBError("failed_precondition", `no file for the dump can be made: ${why}`, { cause })
    }
  }
}

/** Nothing of it has to survive this process. */
class DiskFile implements SyncFile {
  readonly #fd: number
  #size = 0
  #closed = false

  constructor(path: string) {
    this.#fd = openSync(path, "wx+", 0o600)
  }

  read(into: Uint8Array, { at }: { at: number }): number {
    return readSync(this.#fd, into, 0, into.length, at)
  }

  write(from: Uint8Array, { at }: { at: number }): number {
    let done = 0
    try {
      while (done < from.length) done += writeSync(this.#fd, from, done, from.length - done, at + done)
    } catch (error) {
      // A short count is how a file says that it is full.
      if (!isFull(error)) throw error
    }
    this.#size = Math.max(this.#size, at + done)
    return done
  }

  truncate(size: number): void {
    ftruncateSync(this.#fd, size)
    this.#size = size
  }

  getSize(): number {
    return this.#size
  }

  flush(): void {}

  close(): void {
    if (!this.#closed) closeSync(this.#fd)
    this.#closed = true
  }
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT")
