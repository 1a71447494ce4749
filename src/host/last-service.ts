import { allErased } from "../storage/erased.ts"
import type { AgentDBError } from "../wire/errors.ts"
import { developmentKeys, type Keys } from "../wire/jwt.ts"
import type { Started } from "./control.ts"
import type { Life, LifeOptions } from "./life.ts"
import { inMemory } from "./outages.ts"
import type { OwnOptions } from "./worker-life.ts"

/** The service that a page had last: what comes after it must go on with the same files. */
export class LastService {
  #term: string | undefined
  #keys: Keys | undefined
  #identity: string | undefined

  /** Whether there was one. */
  get isKnown(): boolean {
    return this.#term !== undefined
  }

  /** Of its files; undefined if they were in memory. */
  get identity(): string | undefined {
    return this.#identity
  }

  /** An owner's win over what a page was opened with, but not over what it named. */
  keysFor({ keys }: LifeOptions): Keys {
    return keys ?? this.#keys ?? developmentKeys
  }

  /** What a worker of this page starts with. */
  startOptions(options: LifeOptions): OwnOptions {
    return { ...options, keys: this.keysFor(options), identity: this.#identity }
  }

  /** Why a service may not take its place: nobody is to find an empty one where there was another. */
  problemOf({ identity }: Started): AgentDBError | undefined {
    if (this.#identity === undefined || identity === this.#identity) return undefined
    return identity === undefined ? inMemory() : allErased()
  }

  /** @returns whether the one before was another and in memory, so that what it held is gone */
  note({ term }: Life, { keys, identity }: Started): boolean {
    const isMemoryLost = this.#term !== undefined && this.#term !== term.id && this.#identity === undefined
    this.#term = term.id
    this.#keys = keys
    this.#identity = identity
    return isMemoryLost
  }
}
