import { openSyncHandle } from "./opfs-handles.ts"
import type { SyncFile } from "./storage.ts"

/** A sorter, its journal and a VACUUM at the same time, and one to spare. */
const poolSize = 4

/**
 * Scratch files that are open before they are needed: SQLite asks for one in the middle of a statement and cannot
 * wait. What is in them is never read after a crash, so they are reused under the same names.
 */
export class ScratchPool {
  readonly #folder: FileSystemDirectoryHandle
  readonly #free: SyncFile[] = []
  readonly #filled: Promise<void>
  #closed = false

  constructor(folder: FileSystemDirectoryHandle) {
    this.#folder = folder
    this.#filled = this.#fill()
  }

  take(): SyncFile | undefined {
    return this.#free.pop()
  }

  give(file: SyncFile): void {
    if (this.#closed) {
      file.close()
      return
    }
    file.truncate(0)
    this.#free.push(file)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#filled
    for (const file of this.#free.splice(0)) file.close()
  }

  async #fill(): Promise<void> {
    for (let i = 0; i < poolSize && !this.#closed; i++) {
      try {
        const handle = await openSyncHandle(await this.#folder.getFileHandle(`scratch-${i}`, { create: true }))
        this.give(handle)
      } catch {
        // Without it sorters use memory: slower to fail, never wrong.
      }
    }
  }
}
