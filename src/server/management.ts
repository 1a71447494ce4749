import { isQuotaExceeded } from "../storage/quota.ts"
import type { RawFile } from "../storage/storage.ts"
import type { DatabaseInfo } from "../wire/database-info.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"
import type { Catalog } from "./catalog.ts"
import { type Clock, unixSeconds } from "./clock.ts"
import { checkDatabaseId } from "./database-id.ts"
import type { Dump, Dumps, HeldDump, Publish } from "./dumps.ts"
import type { Idempotency } from "./idempotency.ts"
import { decodePageToken, encodePageToken } from "./page-token.ts"
import type { RestoreJob, Restores } from "./restores.ts"

export interface CreateOptions {
  region?: string | undefined
  /** 0 or absent never expires. */
  ttlSeconds?: number | bigint | undefined
  /** The same key within 24 hours gives the same database. */
  requestId?: string | undefined
}

export interface Created {
  readonly databaseId: string
  readonly expiresAt: number
}

export interface Restored extends Created {
  /** What the file may have lacked, for a person to read; empty most times. */
  readonly warnings: string[]
}

export interface ListOptions {
  /** 0 or absent means 100; at most 1,000. */
  pageSize?: number | undefined
  pageToken?: string | undefined
}

export interface Page {
  readonly databases: DatabaseInfo[]
  /** Empty on the last page. */
  readonly nextPageToken: string
}

const defaultPageSize = 100
const maxPageSize = 1000
const maxTextLength = 128

/** What every project shares. */
export interface ManagementParts {
  readonly catalog: Catalog
  readonly dumps: Dumps
  readonly restores: Restores
  readonly idempotency: Idempotency
  readonly limits: Limits
  readonly clock: Clock
}

/** The management plane in one project. Every method throws AgentDBError. */
export class Management {
  readonly #project: string
  readonly #catalog: Catalog
  readonly #dumps: Dumps
  readonly #restores: Restores
  readonly #idempotency: Idempotency
  readonly #limits: Limits
  readonly #clock: Clock

  constructor(project: string, parts: ManagementParts) {
    this.#project = project
    this.#catalog = parts.catalog
    this.#dumps = parts.dumps
    this.#restores = parts.restores
    this.#idempotency = parts.idempotency
    this.#limits = parts.limits
    this.#clock = parts.clock
  }

  async create(options: CreateOptions = {}): Promise<Created> {
    const region = checkText("region", options.region) || "local"
    const requestId = checkText("X-Livekit-Request-Id", options.requestId)
    const expiresAt = this.#expiry(options.ttlSeconds ?? 0)
    const make = async (): Promise<Created> => {
      const key = requestId === "" ? {} : { requestId }
      const { id } = await heedingQuota(() => this.#catalog.create(this.#project, { region, expiresAt, ...key }))
      return { databaseId: id, expiresAt }
    }
    return requestId === "" ? make() : this.#idempotency.once(this.#project, requestId, make)
  }

  /** A new database of the content of a SQLite file, at tip 1. It is not there before it is whole, checked and durable. */
  async restore(job: RestoreJob, options: Omit<CreateOptions, "requestId"> = {}): Promise<Restored> {
    const region = checkText("region", options.region) || "local"
    const ttlSeconds = options.ttlSeconds ?? 0
    this.#expiry(ttlSeconds)
    const attributes = () => ({ region, expiresAt: this.#expiry(ttlSeconds) })
    const { entry, warnings } = await this.#restores.restore(this.#project, attributes, job)
    return { databaseId: entry.id, expiresAt: entry.attributes.expiresAt, warnings }
  }

  async get(id: string): Promise<DatabaseInfo> {
    checkDatabaseId(id)
    return this.#catalog.info(await this.#catalog.find(this.#project, id))
  }

  async list(options: ListOptions = {}): Promise<Page> {
    const { pageSize = 0, pageToken = "" } = options
    if (!Number.isInteger(pageSize) || pageSize < 0) {
      throw new AgentDBError("invalid_argument", `page_size must be a whole number of at least 0, got ${pageSize}`)
    }
    const size = pageSize === 0 ? defaultPageSize : Math.min(pageSize, maxPageSize)
    const after = pageToken === "" ? 0 : decodePageToken(pageToken)
    const entries = (await this.#catalog.list(this.#project)).filter((entry) => entry.attributes.order > after)
    const page = entries.slice(0, size)
    const last = page.at(-1)
    const databases: DatabaseInfo[] = []
    for (const entry of page) databases.push(await this.#catalog.info(entry))
    return { databases, nextPageToken: last && entries.length > size ? encodePageToken(last.attributes.order) : "" }
  }

  async delete(id: string): Promise<void> {
    checkDatabaseId(id)
    await this.#catalog.delete(this.#project, id)
  }

  /** @param publish makes a URL that anyone may download from until the time given. */
  async dump(id: string, publish: Publish): Promise<Dump> {
    checkDatabaseId(id)
    const entry = await this.#catalog.find(this.#project, id)
    return heedingQuota(() => this.#dumps.dump(entry, publish))
  }

  /** The files of a database that is refused as damaged, as they are: what can be rescued is in them. */
  async rawFiles(id: string): Promise<RawFile[]> {
    checkDatabaseId(id)
    return this.#catalog.rawFiles(this.#project, id)
  }

  /** A copy as a file with its SHA-256. The caller erases it by `eraseHeld`. */
  async hold(id: string, onProgress: (doneBytes: number, totalBytes: number) => void): Promise<HeldDump> {
    checkDatabaseId(id)
    const entry = await this.#catalog.find(this.#project, id)
    return heedingQuota(() => this.#dumps.hold(entry, onProgress))
  }

  eraseHeld(id: string, { name }: Pick<HeldDump, "name">): Promise<void> {
    return this.#dumps.erase(this.#project, id, name)
  }

  #expiry(ttlSeconds: number | bigint): number {
    if (typeof ttlSeconds === "number" && !Number.isInteger(ttlSeconds)) {
      throw new AgentDBError("invalid_argument", `ttl_seconds must be a whole number, got ${ttlSeconds}`)
    }
    const ttl = BigInt(ttlSeconds)
    if (ttl < 0n) throw new AgentDBError("invalid_argument", `ttl_seconds must not be negative, got ${ttl}`)
    if (ttl === 0n) return 0
    const cap = BigInt(this.#limits.ttlCapSeconds)
    return unixSeconds(this.#clock) + Number(ttl > cap ? cap : ttl)
  }
}

/** A full disk is nothing that SQL did here. */
async function heedingQuota<T>(job: () => Promise<T>): Promise<T> {
  try {
    return await job()
  } catch (error) {
    const isFull = error instanceof AgentDBError ? error.code === "SQLITE_FULL" : isQuotaExceeded(error)
    if (!isFull) throw error
    throw new AgentDBError(
      "resource_exhausted",
      "the browser's quota for this origin is used up, or the disk is full",
      {
        cause: error,
      },
    )
  }
}

function checkText(name: string, value: unknown): string {
  if (value === undefined) return ""
  if (typeof value === "string" && value.length <= maxTextLength) return value
  throw new AgentDBError("invalid_argument", `${name} must be a string of at most ${maxTextLength} characters`)
}
