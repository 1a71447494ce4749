import type { AgentDB_Wire_Hello as Hello } from "../gen/livekit_agentdb_pb.ts"
import { CloseCode, type Link } from "../link/link.ts"
import type { Engine } from "../sqlite/engine.ts"
import type { Storage } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import { developmentKeys, type Keys, verifyToken } from "../wire/jwt.ts"
import { type Limits, resolveLimits } from "../wire/limits.ts"
import type { ReadUrl } from "./cancel-signals.ts"
import { Catalog, type Entry, type StorageNews } from "./catalog.ts"
import { type Clock, systemClock, unixSeconds } from "./clock.ts"
import { checkDatabaseId } from "./database-id.ts"
import { Dumps, type Publish } from "./dumps.ts"
import { Idempotency } from "./idempotency.ts"
import { Management } from "./management.ts"
import type { Member, OpenDatabase } from "./open-database.ts"
import { Restores } from "./restores.ts"
import { RunQueue } from "./run-queue.ts"
import { Session, type SessionHost } from "./session.ts"
import { answerTwirp, type TwirpRequest, type TwirpResponse } from "./twirp.ts"

export interface ServiceOptions {
  readonly engine: Engine
  readonly storage: Storage
  readonly keys?: Keys | undefined
  readonly limits?: Partial<Limits> | undefined
  readonly clock?: Clock | undefined
  readonly readUrl?: ReadUrl | undefined
  /** Told, some time after commits, that the storage may have grown; and if it is gone. */
  readonly onStorage?: ((news: StorageNews) => void) | undefined
}

/** Both planes over one storage. Knows neither browser nor Node: a host gives it links and calls. */
export class Service {
  readonly limits: Limits
  readonly #keys: Keys
  readonly #clock: Clock
  readonly #catalog: Catalog
  readonly #dumps: Dumps
  readonly #restores: Restores
  readonly #idempotency: Idempotency
  readonly #sessions = new Set<Session>()
  readonly #entries = new WeakMap<OpenDatabase, Entry>()
  readonly #sessionHost: SessionHost
  #closing: Promise<void> | undefined

  private constructor(options: ServiceOptions) {
    this.limits = resolveLimits(options.limits)
    this.#keys = options.keys ?? developmentKeys
    this.#clock = options.clock ?? systemClock
    this.#catalog = new Catalog(
      options.engine,
      options.storage,
      this.limits,
      this.#clock,
      new RunQueue(),
      options.onStorage,
    )
    this.#dumps = new Dumps(this.#catalog, options.storage, this.limits, this.#clock)
    this.#restores = new Restores(this.#catalog, options.engine, this.limits)
    this.#idempotency = new Idempotency(this.#catalog, this.#clock)
    this.#sessionHost = {
      limits: this.limits,
      clock: this.#clock,
      readUrl: options.readUrl,
      attach: (hello, member) => this.#attach(hello, member),
      detach: (open, member) => this.#detach(open, member),
      ended: (session) => this.#sessions.delete(session),
    }
  }

  /** A service that also sees, in the background, to what earlier runs left. */
  static async open(options: ServiceOptions): Promise<Service> {
    const service = new Service(options)
    // Whatever fails here is met again by the call that needs it, or at the next start.
    service.#tidy().catch(() => {})
    return service
  }

  /** Expired databases and dumps. Calls and sockets need not wait for it. */
  async #tidy(): Promise<void> {
    await this.#catalog.loadAll()
    await this.#dumps.sweep()
  }

  /** Serves a socket on this link. */
  accept(link: Link): Session {
    const session = new Session(link, this.#sessionHost)
    if (this.#closing) session.close(CloseCode.goingAway, "the service is closing")
    else this.#sessions.add(session)
    return session
  }

  /** The management plane in the project of this key, without a token: for the host's own calls. */
  management(apiKey: string): Management {
    return new Management(apiKey, {
      catalog: this.#catalog,
      dumps: this.#dumps,
      restores: this.#restores,
      idempotency: this.#idempotency,
      limits: this.limits,
      clock: this.#clock,
    })
  }

  /** The management plane as Twirp v7. Never rejects: failures are answers. */
  twirp(request: TwirpRequest, publish: Publish): Promise<TwirpResponse> {
    return answerTwirp(request, publish, (token) => this.management(this.#authenticate(token)))
  }

  /** @throws AgentDBError `data_loss` once somebody else has erased the stored files of everything */
  checkStored(): Promise<void> {
    return this.#catalog.checkStored()
  }

  /** Tells each durable tip of a database, from now on. The returned function ends it. */
  async watch(apiKey: string, databaseId: string, listener: (tip: number) => void): Promise<() => void> {
    checkDatabaseId(databaseId)
    const { watchers } = await this.#catalog.find(apiKey, databaseId)
    // The same function may watch twice.
    const watcher = (tip: number) => listener(tip)
    watchers.add(watcher)
    return () => watchers.delete(watcher)
  }

  /** Closes the sockets with 1001 and every database cleanly. The storage stays the caller's. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    for (const session of [...this.#sessions]) session.close(CloseCode.goingAway, "the service is closing")
    await this.#catalog.close()
  }

  #authenticate(token: string): string {
    return verifyToken(token, this.#keys, unixSeconds(this.#clock))
  }

  async #attach({ token, databaseId }: Hello, member: Member): Promise<OpenDatabase> {
    const project = this.#authenticate(token)
    if (this.#closing) throw new AgentDBError("unavailable", "the service is closing")
    checkDatabaseId(databaseId)
    const entry = await this.#catalog.find(project, databaseId)
    const open = await this.#catalog.retain(entry)
    if (!open.alive) {
      this.#catalog.release(entry)
      throw new AgentDBError("unavailable", "the database was closed meanwhile")
    }
    this.#entries.set(open, entry)
    open.members.add(member)
    return open
  }

  #detach(open: OpenDatabase, member: Member): void {
    if (!open.members.delete(member)) return
    const entry = this.#entries.get(open)
    if (entry) this.#catalog.release(entry)
  }
}
