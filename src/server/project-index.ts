import type { Entry } from "./catalog.ts"

/** How many are read at a time while somebody waits for all of them. */
const eagerLanes = 16

export interface IndexReader {
  /** The ids that have a folder. */
  ids(): Promise<string[]>
  /** What is stored of one; undefined if there is nothing. */
  entry(id: string): Promise<Entry | undefined>
}

/** A reading of every database, by as many lanes as its callers want. */
interface Sweep {
  readonly ids: Promise<string[]>
  readonly lanes: Promise<void>[]
}

/** What is known of a project's databases: one is read when it is asked for, all of them only for who needs all. */
export class ProjectIndex {
  readonly #reader: IndexReader
  readonly #entries = new Map<string, Entry>()
  readonly #reading = new Map<string, Promise<Entry | undefined>>()
  /** Those that were erased while the ids of others were still to be read. */
  readonly #erased = new Set<string>()
  #sweep: Sweep | undefined
  #complete = false

  constructor(reader: IndexReader) {
    this.#reader = reader
  }

  /** Those that have been read so far. */
  get known(): Iterable<Entry> {
    return this.#entries.values()
  }

  async find(id: string): Promise<Entry | undefined> {
    const known = this.#entries.get(id)
    if (known || this.#complete || this.#erased.has(id)) return known
    let reading = this.#reading.get(id)
    if (!reading) {
      reading = this.#read(id).finally(() => this.#reading.delete(id))
      this.#reading.set(id, reading)
    }
    return reading
  }

  /** All of them, by id. @param lanes 1 to take one's time */
  async all(lanes = eagerLanes): Promise<Map<string, Entry>> {
    if (this.#complete) return this.#entries
    this.#sweep ??= { ids: this.#reader.ids(), lanes: [] }
    const sweep = this.#sweep
    try {
      const ids = await sweep.ids
      while (sweep.lanes.length < lanes) sweep.lanes.push(this.#lane(ids))
      // Whoever is in more of a hurry adds lanes meanwhile: the last ids may be read in those.
      for (let ended = 0; ended < sweep.lanes.length; ) {
        ended = sweep.lanes.length
        await Promise.all(sweep.lanes)
      }
    } catch (error) {
      // The next caller tries again.
      if (this.#sweep === sweep) this.#sweep = undefined
      throw error
    }
    this.#complete = true
    this.#erased.clear()
    return this.#entries
  }

  add(entry: Entry): void {
    this.#entries.set(entry.id, entry)
  }

  remove(id: string): void {
    this.#entries.delete(id)
    if (!this.#complete) this.#erased.add(id)
  }

  async #lane(ids: string[]): Promise<void> {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) await this.find(id)
  }

  async #read(id: string): Promise<Entry | undefined> {
    const entry = await this.#reader.entry(id)
    if (entry) this.#entries.set(id, entry)
    return entry
  }
}
