import { usableLocks, whenReleased } from "./locks.ts"

/** Something opened for an owner: it ends with it, unless it has ended before. */
export interface Owned {
  readonly ended: boolean
  end(): void
}

/** What each handle of each page opened here. */
export class Owners {
  readonly #owners = new Map<string, Set<Owned>>()

  /** From here on `owner` may own things, until `lock` falls free: its page is gone then. */
  async attach(owner: string, lock: string | undefined): Promise<void> {
    this.#owners.set(owner, new Set())
    if (lock === undefined) return
    const locks = await usableLocks()
    if (locks) whenReleased(locks, lock, () => this.release(owner))
  }

  /** Takes `owned`, or ends it at once if its owner is gone: messages of a closing page overtake nothing. */
  add(owner: string, owned: Owned): void {
    const set = this.#owners.get(owner)
    if (!set) {
      owned.end()
      return
    }
    for (const other of set) if (other.ended) set.delete(other)
    set.add(owned)
  }

  release(owner: string): void {
    const set = this.#owners.get(owner)
    this.#owners.delete(owner)
    for (const owned of set ?? []) if (!owned.ended) owned.end()
  }
}
