import { Database } from "../sqlite/database.ts"
import type { Engine } from "../sqlite/engine.ts"
import { type MetaAttributes, parseMeta } from "../sqlite/meta.ts"
import type { Storage } from "../storage/storage.ts"
import type { DatabaseInfo } from "../wire/database-info.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"
import { type Clock, unixSeconds } from "./clock.ts"
import { newDatabaseId, notFound } from "./database-id.ts"
import { OpenDatabase } from "./open-database.ts"
import type { RunQueue } from "./run-queue.ts"

/** How long a database stays open after its last user: a reload comes back within this. */
const lingerMs = 5_000

/** A database of a project, open or not. */
export interface Entry {
  readonly project: string
  readonly id: string
  readonly attributes: MetaAttributes
  /** Of a database that is closed cleanly. */
  tip: number
  /** Not closed cleanly: its tip is known once it has been opened. */
  dirty: boolean
  /** Its meta file tells nothing any more; only a deletion is possible. */
  readonly damaged: boolean
  opening: Promise<OpenDatabase> | undefined
  open: OpenDatabase | undefined
  users: number
  disarmLinger: () => void
  readonly watchers: Set<(tip: number) => void>
}

/** What there is, in which project, and what of it is open. */
export class Catalog {
  readonly #engine: Engine
  readonly #storage: Storage
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #queue: RunQueue
  readonly #projects = new Map<string, Promise<Map<string, Entry>>>()
  #disarmExpiry = () => {}
  #nextExpiry = Number.POSITIVE_INFINITY
  #lastOrder = 0
  #closed = false

  constructor(engine: Engine, storage: Storage, limits: Limits, clock: Clock, queue: RunQueue) {
    this.#engine = engine
    this.#storage = storage
    this.#limits = limits
    this.#clock = clock
    this.#queue = queue
  }

  /** Loads every project, so that databases expire at their time and not at the next call. */
  async loadAll(): Promise<void> {
    for (const project of await this.#storage.projects()) await this.entries(project)
  }

  /** The project's databases that have not expired, oldest first. */
  async list(project: string): Promise<Entry[]> {
    const now = unixSeconds(this.#clock)
    const entries = [...(await this.entries(project)).values()]
    return entries
      .filter((entry) => !entry.damaged && !hasExpired(entry, now))
      .sort((a, b) => a.attributes.order - b.attributes.order)
  }

  /** @throws AgentDBError `not_found`, `data_loss` for a database whose meta file is damaged. */
  async find(project: string, id: string): Promise<Entry> {
    const entry = (await this.entries(project)).get(id)
    if (!entry || hasExpired(entry, unixSeconds(this.#clock))) throw notFound()
    if (entry.damaged) throw new AgentDBError("data_loss", "the database's meta file is damaged")
    return entry
  }

  /** A new and empty database. */
  async create(project: string, attributes: Omit<MetaAttributes, "order" | "createdAt">): Promise<Entry> {
    const entries = await this.entries(project)
    if (entries.size >= this.#limits.databases) {
      throw new AgentDBError("resource_exhausted", `a project has at most ${this.#limits.databases} databases`)
    }
    let id = newDatabaseId()
    while (entries.has(id)) id = newDatabaseId()
    // Grows with each creation, also within one millisecond: the order of lists.
    const order = Math.max(this.#lastOrder + 1, this.#clock.now())
    this.#lastOrder = order
    const entry = newEntry(project, id, {
      ...attributes,
      createdAt: unixSeconds(this.#clock),
      order,
    })
    const files = await this.#storage.create(project, id)
    try {
      entry.open = this.#host(entry, Database.create(this.#engine, files, entry.attributes))
    } catch (error) {
      await this.#storage.remove(project, id)
      throw error
    }
    entries.set(id, entry)
    this.#armExpiry(entry)
    this.#linger(entry)
    return entry
  }

  /** Removes the stored bytes. Sockets on it end with `not_found` and 1008. */
  async delete(project: string, id: string): Promise<void> {
    const entries = await this.entries(project)
    const entry = entries.get(id)
    if (!entry || hasExpired(entry, unixSeconds(this.#clock))) throw notFound()
    await this.#erase(entries, entry)
  }

  /** Opens the database for one more user, who releases it later. */
  async retain(entry: Entry): Promise<OpenDatabase> {
    entry.users++
    entry.disarmLinger()
    try {
      return await this.#opened(entry)
    } catch (error) {
      this.release(entry)
      throw error
    }
  }

  release(entry: Entry): void {
    entry.users--
    this.#linger(entry)
  }

  /** What the management plane tells of it. Opens it only if it was not closed cleanly. */
  async info(entry: Entry): Promise<DatabaseInfo> {
    if (!entry.open && entry.dirty) {
      await this.retain(entry)
      this.release(entry)
    }
    const { region, createdAt, expiresAt } = entry.attributes
    return { databaseId: entry.id, region, createdAt, expiresAt, tip: entry.open?.database.durableTip ?? entry.tip }
  }

  /** Closes every database cleanly. Nothing is opened any more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#disarmExpiry()
    for (const loading of this.#projects.values()) {
      for (const entry of (await loading.catch(() => new Map<string, Entry>())).values()) {
        entry.disarmLinger()
        await entry.opening?.catch(() => {})
        this.#shut(entry)
      }
    }
  }

  /** The project's databases by id, read from storage the first time. */
  entries(project: string): Promise<Map<string, Entry>> {
    let loading = this.#projects.get(project)
    if (!loading) {
      loading = this.#load(project)
      this.#projects.set(project, loading)
      // A failed read is tried again by the next caller.
      loading.catch(() => this.#projects.delete(project))
    }
    return loading
  }

  async #load(project: string): Promise<Map<string, Entry>> {
    const entries = new Map<string, Entry>()
    for (const id of await this.#storage.databases(project)) {
      const bytes = await this.#storage.readMeta(project, id)
      const meta = bytes && parseMeta(bytes)
      if (!bytes?.length || (!meta && (await this.#neverFinished(project, id)))) {
        // A creation that was cut before its first record, or a deletion before its last step: no data either way.
        await this.#storage.remove(project, id)
        continue
      }
      const lost = { region: "", createdAt: 0, expiresAt: 0, order: 0 }
      const entry = newEntry(project, id, meta?.attributes ?? lost, meta)
      this.#lastOrder = Math.max(this.#lastOrder, entry.attributes.order)
      entries.set(id, entry)
      this.#armExpiry(entry)
    }
    return entries
  }

  /** Of a database without a valid record: whether it never had one, because its creation was cut while writing it. */
  async #neverFinished(project: string, id: string): Promise<boolean> {
    try {
      Database.open(this.#engine, await this.#storage.open(project, id)).abandon()
      return false
    } catch (error) {
      return AgentDBError.from(error).code === "not_found"
    }
  }

  async #opened(entry: Entry): Promise<OpenDatabase> {
    if (entry.open) return entry.open
    entry.opening ??= this.#openFiles(entry).finally(() => {
      entry.opening = undefined
    })
    return entry.opening
  }

  async #openFiles(entry: Entry): Promise<OpenDatabase> {
    const files = await this.#storage.open(entry.project, entry.id)
    if (this.#closed) {
      files.close()
      throw new AgentDBError("unavailable", "the service is closing")
    }
    entry.dirty = true
    // The files are the database's from here on, also if it throws.
    entry.open = this.#host(entry, Database.open(this.#engine, files))
    return entry.open
  }

  #host(entry: Entry, database: Database): OpenDatabase {
    const tell = (tip: number) => {
      for (const watcher of [...entry.watchers]) watcher(tip)
    }
    return new OpenDatabase(database, this.#limits, this.#clock, this.#queue, tell, () => {
      entry.open = undefined
    })
  }

  #linger(entry: Entry): void {
    if (entry.users > 0 || !entry.open || this.#closed) return
    entry.disarmLinger()
    entry.disarmLinger = this.#clock.after(lingerMs, () => this.#shut(entry))
  }

  #shut(entry: Entry): void {
    const { open } = entry
    if (!open) return
    entry.open = undefined
    try {
      if (!open.close()) return
      entry.tip = open.database.durableTip
      entry.dirty = false
    } catch {
      // It stays marked as not closed cleanly: the next opening recovers it.
    }
  }

  async #erase(entries: Map<string, Entry>, entry: Entry): Promise<void> {
    entries.delete(entry.id)
    entry.disarmLinger()
    try {
      await entry.opening?.catch(() => {})
      const { open } = entry
      entry.open = undefined
      open?.sever(notFound(), 1008)
      open?.discard()
      await this.#storage.remove(entry.project, entry.id)
    } catch (error) {
      entries.set(entry.id, entry)
      throw error
    }
  }

  #armExpiry(entry: Entry): void {
    const { expiresAt } = entry.attributes
    if (expiresAt === 0 || expiresAt >= this.#nextExpiry) return
    this.#nextExpiry = expiresAt
    this.#disarmExpiry()
    this.#disarmExpiry = this.#clock.after(expiresAt * 1000 - this.#clock.now(), () => void this.#expire())
  }

  /** Deletes what the clock says now has expired, and arms for the next. */
  async #expire(): Promise<void> {
    this.#nextExpiry = Number.POSITIVE_INFINITY
    const now = unixSeconds(this.#clock)
    for (const loading of [...this.#projects.values()]) {
      const entries = await loading.catch(() => new Map<string, Entry>())
      for (const entry of [...entries.values()]) {
        if (!hasExpired(entry, now)) this.#armExpiry(entry)
        // What cannot be erased now is hidden all the same, and erased at the next start.
        else await this.#erase(entries, entry).catch(() => {})
      }
    }
  }
}

function hasExpired({ attributes: { expiresAt } }: Entry, now: number): boolean {
  return expiresAt > 0 && expiresAt <= now
}

function newEntry(
  project: string,
  id: string,
  attributes: MetaAttributes,
  meta: { tip: number; dirty: boolean } | undefined = { tip: 0, dirty: true },
): Entry {
  return {
    project,
    id,
    attributes,
    tip: meta?.tip ?? 0,
    dirty: meta?.dirty ?? true,
    damaged: attributes.order === 0,
    opening: undefined,
    open: undefined,
    users: 0,
    disarmLinger: () => {},
    watchers: new Set(),
  }
}
