import { Database } from "../sqlite/database.ts"
import type { Engine } from "../sqlite/engine.ts"
import { type MetaAttributes, MetaFile, type MetaRecord, markDeleted, parseMeta } from "../sqlite/meta.ts"
import { allErased, erased } from "../storage/erased.ts"
import type { DatabaseFiles, RawFile, Storage } from "../storage/storage.ts"
import type { DatabaseInfo } from "../wire/database-info.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"
import { type Clock, unixSeconds } from "./clock.ts"
import { newDatabaseId, notFound } from "./database-id.ts"
import { OpenDatabase } from "./open-database.ts"
import { ProjectIndex } from "./project-index.ts"
import type { RunQueue } from "./run-queue.ts"

/** How long a database stays open after its last user: a reload comes back within this. */
const lingerMs = 5_000

/** Fills the files of a new database; `check` throws once there is no point in going on. */
type Fill = (files: DatabaseFiles, check: () => void) => Promise<void>

export type NewAttributes = Omit<MetaAttributes, "order" | "createdAt">

/** After commits the files are looked for once in this time: somebody else may erase them while they are open. */
const lookMs = 1_000

/** What became of the storage: it grew or shrank, or it is gone for the reason given. */
export interface StorageNews {
  readonly problem?: string
}

/** A database of a project, open or not. */
export interface Entry {
  readonly project: string
  readonly id: string
  readonly attributes: MetaAttributes
  /** Of a database that is closed cleanly. */
  tip: number
  /** Not closed cleanly: its tip is known once it has been opened. */
  dirty: boolean
  /** Why it is refused: `data_loss` if it is damaged, `failed_precondition` if a newer version has written it. */
  problem: AgentDBError | undefined
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
  readonly #projects = new Map<string, ProjectIndex>()
  readonly #making = new Set<Promise<Entry>>()
  /** Those whose files are open, the longest unused first. */
  readonly #awake = new Map<OpenDatabase, { readonly entry: Entry; usedAt: number; disarm(): void }>()
  /** Those that committed since the files were looked for. */
  readonly #written = new Map<OpenDatabase, Entry>()
  readonly #tell: (news: StorageNews) => void
  /** Set once the whole storage has been erased under this service: nothing here is kept any more. */
  #lost: AgentDBError | undefined
  #lookArmed = false
  #disarmExpiry = () => {}
  #nextExpiry = Number.POSITIVE_INFINITY
  #lastOrder = 0
  #closed = false

  constructor(
    engine: Engine,
    storage: Storage,
    limits: Limits,
    clock: Clock,
    queue: RunQueue,
    tell: (news: StorageNews) => void = () => {},
  ) {
    this.#tell = tell
    this.#engine = engine
    this.#storage = storage
    this.#limits = limits
    this.#clock = clock
    this.#queue = queue
  }

  /** Reads every project, so that databases expire at their time and not at the next call. One by one: others wait. */
  async loadAll(): Promise<void> {
    for (const project of await this.#storage.projects()) await this.#index(project).all(1)
  }

  /** The project's databases that have not expired, oldest first; those that are refused too. */
  async list(project: string): Promise<Entry[]> {
    await this.checkStored()
    const now = unixSeconds(this.#clock)
    const entries = [...(await this.entries(project)).values()]
    return entries.filter((entry) => !hasExpired(entry, now)).sort((a, b) => a.attributes.order - b.attributes.order)
  }

  /** @throws AgentDBError `not_found`, or the entry's problem. */
  async find(project: string, id: string): Promise<Entry> {
    const entry = await this.#find(project, id)
    if (entry.problem) throw entry.problem
    return entry
  }

  /** The files of a database that is refused, as they are. */
  async rawFiles(project: string, id: string): Promise<RawFile[]> {
    const entry = await this.#find(project, id)
    await this.#probe(entry)
    if (entry.problem) return this.#storage.rawFiles(project, id)
    throw new AgentDBError("failed_precondition", "the database is not damaged; dump it")
  }

  async #find(project: string, id: string): Promise<Entry> {
    if (this.#lost) throw this.#lost
    const entry = await this.#index(project).find(id)
    if (!entry || hasExpired(entry, unixSeconds(this.#clock))) throw notFound()
    return entry
  }

  /** A new and empty database. */
  create(project: string, attributes: NewAttributes): Promise<Entry> {
    return this.#make(project, async (files) => Database.create(this.#engine, files, this.#dated(attributes)))
  }

  /**
   * A new database of what `fill` puts into its files, which nobody sees before.
   * @param attributes asked for when all of it is there
   */
  restore(project: string, attributes: () => NewAttributes, fill: Fill): Promise<Entry> {
    const check = () => {
      if (this.#closed) throw closing()
    }
    return this.#make(project, async (files) => {
      try {
        MetaFile.announce(files.meta)
        await fill(files, check)
        check()
      } catch (error) {
        files.close()
        throw error
      }
      return Database.adopt(this.#engine, files, this.#dated(attributes()))
    })
  }

  /** @param make owns the files, also if it throws. */
  #make(project: string, make: (files: DatabaseFiles) => Promise<Database>): Promise<Entry> {
    const making = this.#makeOne(project, make)
    this.#making.add(making)
    return making.finally(() => this.#making.delete(making))
  }

  async #makeOne(project: string, make: (files: DatabaseFiles) => Promise<Database>): Promise<Entry> {
    await this.checkStored()
    const entries = await this.entries(project)
    this.#assertRoom(entries)
    let id = newDatabaseId()
    while (entries.has(id)) id = newDatabaseId()
    const files = await this.#storage.create(project, id)
    let database: Database | undefined
    try {
      database = await make(files)
      // Others may have been made meanwhile.
      this.#assertRoom(entries)
    } catch (error) {
      database?.abandon()
      await this.#storage.remove(project, id)
      throw error
    }
    const entry = newEntry(project, id, database.attributes)
    entry.open = this.#host(entry, database)
    this.#index(project).add(entry)
    this.#armExpiry(entry)
    this.#linger(entry)
    this.#armLook()
    return entry
  }

  #assertRoom(entries: Map<string, Entry>): void {
    if (entries.size < this.#limits.databases) return
    throw new AgentDBError("resource_exhausted", `a project has at most ${this.#limits.databases} databases`)
  }

  /** Of a database that is made now. */
  #dated(attributes: NewAttributes): MetaAttributes {
    // Grows with each creation, also within one millisecond: the order of lists.
    this.#lastOrder = Math.max(this.#lastOrder + 1, this.#clock.now())
    return { ...attributes, createdAt: unixSeconds(this.#clock), order: this.#lastOrder }
  }

  /**
   * Removes the stored bytes. Sockets on it end with `not_found` and 1008.
   * @throws AgentDBError `failed_precondition` for one of a newer version, which may keep more than this one knows of
   */
  async delete(project: string, id: string): Promise<void> {
    const entry = await this.#find(project, id)
    if (entry.problem?.code === "failed_precondition") throw entry.problem
    await this.#erase(entry)
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
    // One that turns out damaged is told of with what is known.
    if (!entry.open && entry.dirty) await this.#probe(entry)
    const { region, createdAt, expiresAt } = entry.attributes
    return { databaseId: entry.id, region, createdAt, expiresAt, tip: entry.open?.durableTip ?? entry.tip }
  }

  /** Opens it once: that it is damaged may be found out only then. */
  async #probe(entry: Entry): Promise<void> {
    if (entry.problem) return
    try {
      await this.retain(entry)
      this.release(entry)
    } catch (error) {
      if (!entry.problem) throw error
    }
  }

  /** Closes every database cleanly. Nothing is opened any more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#disarmExpiry()
    await Promise.allSettled(this.#making)
    for (const index of this.#projects.values()) {
      for (const entry of index.known) {
        entry.disarmLinger()
        await this.#settled(entry)
        this.#shut(entry)
      }
    }
  }

  /** The project's databases by id. */
  entries(project: string): Promise<Map<string, Entry>> {
    return this.#index(project).all()
  }

  #index(project: string): ProjectIndex {
    let index = this.#projects.get(project)
    if (!index) {
      index = new ProjectIndex({
        ids: () => this.#storage.databases(project),
        entry: (id) => this.#read(project, id),
      })
      this.#projects.set(project, index)
    }
    return index
  }

  async #read(project: string, id: string): Promise<Entry | undefined> {
    const found = await this.#readMeta(project, id)
    // A creation that was cut before its first record, or a removal before its last step.
    if (!found) {
      await this.#storage.remove(project, id)
      return undefined
    }
    const entry =
      found instanceof AgentDBError
        ? newEntry(project, id, { region: "", createdAt: 0, expiresAt: 0, order: orderOfId(id) })
        : newEntry(project, id, found.attributes, found)
    if (found instanceof AgentDBError) entry.problem = found
    else this.#lastOrder = Math.max(this.#lastOrder, entry.attributes.order)
    this.#armExpiry(entry)
    return entry
  }

  /** The record of a database, or why it is refused; undefined if there is no database. */
  async #readMeta(project: string, id: string): Promise<MetaRecord | AgentDBError | undefined> {
    try {
      const bytes = await this.#storage.readMeta(project, id)
      const meta = bytes && parseMeta(bytes)
      if (!bytes || meta?.deleted) return undefined
      if (meta) return meta
      Database.open(this.#engine, await this.#storage.open(project, id)).abandon()
      return undefined
    } catch (error) {
      const failure = AgentDBError.from(error)
      if (failure.code === "not_found") return undefined
      if (isRefusal(failure)) return failure
      throw failure
    }
  }

  async #opened(entry: Entry): Promise<OpenDatabase> {
    if (entry.open) {
      const { open } = entry
      if (open.asleep) await open.wake()
      return open
    }
    entry.opening ??= this.#openFiles(entry).finally(() => {
      entry.opening = undefined
    })
    return entry.opening
  }

  async #openFiles(entry: Entry): Promise<OpenDatabase> {
    entry.open = this.#host(entry, await this.#openDatabase(entry))
    return entry.open
  }

  async #openDatabase(entry: Entry): Promise<Database> {
    if (entry.problem) throw entry.problem
    try {
      const files = await this.#storage.open(entry.project, entry.id)
      if (this.#closed) {
        files.close()
        throw closing()
      }
      entry.dirty = true
      // The files are the database's from here on, also if it throws.
      return Database.open(this.#engine, files)
    } catch (error) {
      const cause = AgentDBError.from(error)
      // It is known here, so its files were there.
      const failure = cause.code === "not_found" ? erased("the files of the database were", cause) : cause
      if (isRefusal(failure)) entry.problem = failure
      throw failure
    }
  }

  #host(entry: Entry, database: Database): OpenDatabase {
    const open: OpenDatabase = new OpenDatabase(database, this.#limits, this.#clock, this.#queue, {
      tip: (tip) => {
        for (const watcher of [...entry.watchers]) watcher(tip)
        this.#written.set(open, entry)
        this.#armLook()
      },
      failed: (error) => {
        this.#forgetAwake(open)
        entry.open = undefined
        if (isRefusal(error)) entry.problem = error
      },
      used: () => this.#used(open),
      reopen: async () => {
        const again = await this.#openDatabase(entry)
        this.#noteAwake(open, entry)
        return again
      },
    })
    this.#noteAwake(open, entry)
    return open
  }

  #noteAwake(open: OpenDatabase, entry: Entry): void {
    const { databaseIdleMs, openDatabases } = this.#limits
    const watch = (ms: number) =>
      this.#clock.after(ms, () => {
        const left = awake.usedAt + databaseIdleMs - this.#clock.now()
        if (left > 0) awake.disarm = watch(left)
        else if (!this.#release(open, entry)) awake.disarm = watch(databaseIdleMs)
      })
    const awake = { entry, usedAt: this.#clock.now(), disarm: watch(databaseIdleMs) }
    this.#awake.set(open, awake)
    for (const [other, { entry }] of this.#awake) {
      if (this.#awake.size <= openDatabases) break
      if (other !== open) this.#release(other, entry)
    }
  }

  #used(open: OpenDatabase): void {
    const awake = this.#awake.get(open)
    if (!awake) return
    awake.usedAt = this.#clock.now()
    this.#awake.delete(open)
    this.#awake.set(open, awake)
  }

  #forgetAwake(open: OpenDatabase): void {
    this.#awake.get(open)?.disarm()
    this.#awake.delete(open)
    this.#written.delete(open)
  }

  #armLook(): void {
    if (this.#lookArmed || this.#closed) return
    this.#lookArmed = true
    this.#clock.after(lookMs, () => {
      this.#lookArmed = false
      // What cannot be told now is looked for after the next commit.
      this.#look().catch(() => {})
    })
  }

  /** The handles of files that somebody erased go on as if nothing were: what they take is kept by nobody. */
  async #look(): Promise<void> {
    if (this.#closed) return
    await this.checkStored()
    for (const [open, { project, id }] of [...this.#written]) {
      this.#written.delete(open)
      const isThere = await this.#storage.isDatabaseThere(project, id)
      if (!isThere && this.#awake.has(open)) open.erased(erased("the files of the database were"))
    }
    this.#tell({})
  }

  /** @throws AgentDBError `data_loss` once somebody else has erased everything; it is told as well. */
  async checkStored(): Promise<void> {
    if (!this.#lost && !(await this.#storage.isThere())) {
      this.#lost = allErased()
      for (const open of [...this.#awake.keys()]) open.erased(this.#lost)
    }
    if (!this.#lost) return
    this.#tell({ problem: this.#lost.message })
    throw this.#lost
  }

  /** Lets the files of a database go if it is idle; without sockets it is closed altogether. */
  #release(open: OpenDatabase, entry: Entry): boolean {
    if (!open.idle) return false
    if (entry.users === 0) this.#shut(entry)
    else if (open.sleep()) this.#forgetAwake(open)
    return open.asleep || entry.open !== open
  }

  /** Nobody opens its files any more that has begun to. */
  async #settled(entry: Entry): Promise<void> {
    await entry.opening?.catch(() => {})
    await entry.open?.waking?.catch(() => {})
  }

  #linger(entry: Entry): void {
    if (entry.users > 0 || !entry.open || this.#closed) return
    entry.disarmLinger()
    entry.disarmLinger = this.#clock.after(lingerMs, () => this.#shut(entry))
  }

  #shut(entry: Entry): void {
    const { open } = entry
    if (!open) return
    entry.disarmLinger()
    entry.open = undefined
    this.#forgetAwake(open)
    try {
      if (!open.close()) return
      entry.tip = open.durableTip
      entry.dirty = false
    } catch {
      // It stays marked as not closed cleanly: the next opening recovers it.
    }
  }

  async #erase(entry: Entry): Promise<void> {
    const index = this.#index(entry.project)
    index.remove(entry.id)
    entry.disarmLinger()
    try {
      await this.#settled(entry)
      const { open } = entry
      entry.open = undefined
      if (open) this.#forgetAwake(open)
      this.#armLook()
      open?.sever(notFound(), 1008)
      open?.discard()
      await this.#markDeleted(entry)
      await this.#storage.remove(entry.project, entry.id)
    } catch (error) {
      index.add(entry)
      throw error
    }
  }

  async #markDeleted({ project, id }: Entry): Promise<void> {
    const files = await this.#storage.open(project, id).catch((error: unknown) => {
      // A removal that failed before has taken the data already; a damaged one cannot be marked.
      if (["not_found", "data_loss"].includes(AgentDBError.from(error).code)) return undefined
      throw error
    })
    if (!files) return
    try {
      markDeleted(files.meta)
    } finally {
      files.close()
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
    for (const entry of [...this.#projects.values()].flatMap((index) => [...index.known])) {
      if (!hasExpired(entry, now)) this.#armExpiry(entry)
      // What cannot be erased now is hidden all the same, and erased at the next start.
      else await this.#erase(entry).catch(() => {})
    }
  }
}

/** A failure that stays: no other attempt would end otherwise. */
function isRefusal({ code }: AgentDBError): boolean {
  return code === "data_loss" || code === "failed_precondition"
}

/** Of one whose own order is lost: before all others, and always the same, so that pages neither repeat nor skip. */
function orderOfId(id: string): number {
  let order = 0
  for (const char of id) order = (order * 57 + char.charCodeAt(0)) % 2 ** 40
  return 1 + order
}

const closing = () => new AgentDBError("unavailable", "the service is closing")

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
    problem: undefined,
    opening: undefined,
    open: undefined,
    users: 0,
    disarmLinger: () => {},
    watchers: new Set(),
  }
}
