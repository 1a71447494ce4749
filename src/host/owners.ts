/** Something opened for an owner: it ends with it, unless it has ended before. */
export interface Owned {
  readonly ended: boolean
  end(): void
}

/** What each handle of each page opened here. */
export class Owners {
  readonly #owners = new Map<string, Set<Owned>>()

  /** From here on `owner` may own things. */
  attach(owner: string): void {
    this.#owners.set(owner, new Set())
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
