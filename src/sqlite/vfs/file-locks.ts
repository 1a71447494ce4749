import { LockLevel } from "../constants.ts"

/** SQLite's five lock levels on one file, between the connections of this worker. */
export class FileLocks {
  /** By handle; a handle without an entry holds nothing. */
  readonly #levels = new Map<number, number>()

  /** Raises the lock of `handle`; false means busy. */
  lock(handle: number, level: number): boolean {
    if ((this.#levels.get(handle) ?? LockLevel.NONE) >= level) return true
    const others = this.#highestOther(handle)
    if (level === LockLevel.SHARED) {
      if (others >= LockLevel.PENDING) return false
    } else {
      if (others >= LockLevel.RESERVED) return false
      if (level === LockLevel.EXCLUSIVE && others >= LockLevel.SHARED) {
        // Keeps new readers out while the present ones leave.
        this.#levels.set(handle, LockLevel.PENDING)
        return false
      }
    }
    this.#levels.set(handle, level)
    return true
  }

  unlock(handle: number, level: number): void {
    if ((this.#levels.get(handle) ?? LockLevel.NONE) <= level) return
    if (level === LockLevel.NONE) this.#levels.delete(handle)
    else this.#levels.set(handle, level)
  }

  get reserved(): boolean {
    return [...this.#levels.values()].some((level) => level >= LockLevel.RESERVED)
  }

  #highestOther(handle: number): number {
    let highest: number = LockLevel.NONE
    for (const [other, level] of this.#levels) if (other !== handle && level > highest) highest = level
    return highest
  }
}
