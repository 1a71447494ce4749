import type { Catalog } from "./catalog.ts"
import { type Clock, unixSeconds } from "./clock.ts"
import type { Created } from "./management.ts"

/** How long a key is remembered. */
const keptSeconds = 86_400

interface Remembered {
  readonly until: number
  readonly result: Promise<Created>
}

/**
 * Idempotency keys of CreateDatabase. A key is kept in the meta file of the database
 * that it made, so it outlives a restart; here are those of calls under way, and of
 * databases that were deleted since.
 */
export class Idempotency {
  readonly #catalog: Catalog
  readonly #clock: Clock
  readonly #calls = new Map<string, Remembered>()

  constructor(catalog: Catalog, clock: Clock) {
    this.#catalog = catalog
    this.#clock = clock
  }

  /** The result of the first call with this key; `make` runs at most once for it. */
  async once(project: string, requestId: string, make: () => Promise<Created>): Promise<Created> {
    const now = unixSeconds(this.#clock)
    for (const [key, { until }] of this.#calls) if (until <= now) this.#calls.delete(key)
    const key = JSON.stringify([project, requestId])
    const known = this.#calls.get(key)
    if (known) return known.result
    const result = this.#stored(project, requestId, now).then((stored) => stored ?? make())
    this.#calls.set(key, { until: now + keptSeconds, result })
    // A creation that failed may be tried again.
    result.catch(() => this.#calls.delete(key))
    return result
  }

  async #stored(project: string, requestId: string, now: number): Promise<Created | undefined> {
    for (const { id, attributes } of (await this.#catalog.entries(project)).values()) {
      if (attributes.requestId === requestId && attributes.createdAt + keptSeconds > now) {
        return { databaseId: id, expiresAt: attributes.expiresAt }
      }
    }
    return undefined
  }
}
