import { proxy, type Remote, transfer } from "comlink"
import { asyncDispose, dispose } from "../client/dispose.ts"
import {
  type Connection,
  type CreatedDatabase,
  type CreateOptions,
  connect,
  type DatabaseInfo,
  type DatabasePage,
  type Dump,
  type ListOptions,
  type Status,
  type Token,
} from "../client/index.ts"
import { CloseCode } from "../link/link.ts"
import { PortLink } from "../link/port-link.ts"
import type { HeldDump } from "../server/dumps.ts"
import type { RawFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { OnProgress, Outcome, ServiceCalls } from "./control.ts"
import { publishDump } from "./dump-urls.ts"
import { hangUp } from "./hang-up.ts"
import type { Membership } from "./membership.ts"
import type { Lease } from "./registry.ts"
import { asBlob, untilAborted } from "./restoring.ts"
import { fetchTwirp } from "./twirp-fetch.ts"
import type { ConnectOptions, RestoredDatabase, RestoreOptions } from "./types.ts"
import { watchTip } from "./watch.ts"

/** What a handle is made of; `openAgentDB` makes it. @internal */
export interface HandleParts {
  readonly lease: Lease
  readonly membership: Membership
  readonly token: Token
  /** The API key whose project the management calls work in. */
  readonly project: () => Promise<string>
}

/**
 * A handle on the service of a name. Every call rejects with an AgentDBError:
 * `closed` after `close()`, and `disconnected` if the worker dies under it, when
 * the outcome is unknown.
 */
export class AgentDB extends EventTarget implements AsyncDisposable {
  readonly #parts: HandleParts
  /** An open one is held by its link, so only closed ones are ever collected. */
  readonly #connections = new Set<WeakRef<Connection>>()
  readonly #ends = new Set<() => void>()
  #closing: Promise<void> | undefined

  /** Not for applications: `openAgentDB` gives handles. @internal */
  constructor(parts: HandleParts) {
    super()
    this.#parts = parts
    this.#ends.add(parts.membership.leave)
    this.#ends.add(parts.lease.supervisor.onStatus((status) => this.#announce(status)))
    // In a task of its own, so that whoever awaited this handle can listen first.
    setTimeout(() => {
      if (!this.#closing) this.#announce(this.status)
    })
  }

  /** Changes are told by a "statuschange" event, whose `detail` is the new status. */
  get status(): Status {
    return this.#parts.lease.supervisor.status
  }

  /**
   * Creates an empty database.
   * @param o.ttlSeconds 0 or unset never expires.
   */
  async createDatabase(o: CreateOptions = {}): Promise<CreatedDatabase> {
    const created = await this.#manage((control, key) => control.create(key, o))
    void this.#parts.lease.supervisor.refreshEstimate()
    return created
  }

  getDatabase(id: string): Promise<DatabaseInfo> {
    return this.#manage((control, key) => control.get(key, id))
  }

  /** Newest last; `pageToken` is the `nextPageToken` of the page before. */
  listDatabases(o: ListOptions = {}): Promise<DatabasePage> {
    return this.#manage((control, key) => control.list(key, o))
  }

  /** Erases the database; sockets that are open on it end. */
  async deleteDatabase(id: string): Promise<void> {
    await this.#manage((control, key) => control.delete(key, id))
    void this.#parts.lease.supervisor.refreshEstimate()
  }

  /**
   * A consistent SQLite file at `tip`. The `blob:` URL works for any code of this
   * origin until `expiresAt` (Unix seconds) or until this page goes.
   */
  dumpDatabase(id: string): Promise<Dump> {
    return this.#manage((control, key) => control.dump(key, id, proxy(asPublish(publishDump))))
  }

  /**
   * The files of a database that is refused with `data_loss`, as they are on disk: what other tools may rescue.
   * `failed_precondition` for a database that is whole; dump it.
   */
  rawDatabaseFiles(id: string): Promise<RawFile[]> {
    return this.#manage((control, key) => control.rawFiles(key, id))
  }

  /**
   * A consistent copy as a file on disk, with its SHA-256. Whoever asks for it releases it; it goes with this handle
   * and with the worker at the latest.
   * @internal
   */
  async holdDump(id: string, onProgress: OnProgress): Promise<HeldDump & { release(): void }> {
    const { port1, port2 } = new MessageChannel()
    const { owner } = this.#parts.membership
    const progress = proxy(onProgress)
    const dump = await this.#manage((control, key) => control.hold(owner, key, id, transfer(port2, [port2]), progress))
    return { ...dump, release: () => hangUp(port1) }
  }

  /**
   * A new database with all that a SQLite file holds, at tip 1: of any page size and encoding, and in WAL mode or not.
   * The file is copied in slices and then checked as a whole. The database is not to be seen before that, and nothing
   * is left of one that is refused, canceled or cut.
   * @throws AgentDBError `invalid_argument` for what is no SQLite database (or one that this SQLite can't use),
   * `data_loss` for one that is damaged or was cut, `SQLITE_FULL` where there is no room, `canceled` by the signal
   */
  async restoreDatabase(file: Blob | Uint8Array, o: RestoreOptions = {}): Promise<RestoredDatabase> {
    const { wal, signal, onProgress, ...options } = o
    const from = { file: asBlob(file), wal: wal && asBlob(wal) }
    const { owner } = this.#parts.membership
    const restored = await untilAborted(signal, (end, alive) => {
      const progress = proxy((bytes: number, totalBytes: number) => onProgress?.({ bytes, totalBytes }))
      return this.#manage((control, key) =>
        control.restore(owner, key, { ...from, alive }, options, transfer(end, [end]), progress),
      )
    })
    void this.#parts.lease.supervisor.refreshEstimate()
    return restored
  }

  /** Connects to a database of the service. The connection ends with this handle. */
  async connect(databaseId: string, o: ConnectOptions = {}): Promise<Connection> {
    this.#assertOpen()
    const connection = await connect({ token: this.#parts.token, ...o, databaseId, link: () => this.openLink() })
    if (this.#closing) {
      await connection.close()
      this.#assertOpen()
    }
    for (const other of this.#connections) if (!other.deref()) this.#connections.delete(other)
    this.#connections.add(new WeakRef(connection))
    return connection
  }

  /** A fresh Wire socket on the service as a link, which also ends when the worker dies (1011). */
  async openLink(): Promise<PortLink> {
    const life = await this.#life()
    return life.openLink(this.#parts.membership.owner)
  }

  /**
   * A fresh Wire socket on the service, for a client of any make. It belongs to
   * whoever holds it, and ends with this handle; a worker that dies shows by Ping only.
   */
  port(): MessagePort {
    this.#assertOpen()
    const { port1, port2 } = new MessageChannel()
    this.#life()
      .then((life) => life.accept(this.#parts.membership.owner, port2))
      .catch((error: unknown) => new PortLink(port2).close(CloseCode.internal, AgentDBError.from(error).message))
    return port1
  }

  /** Calls `listener` with the new tip after each durable commit of a database, whoever made it. */
  watch(databaseId: string, listener: (tip: number) => void): Disposable {
    this.#assertOpen()
    const { lease, membership, project } = this.#parts
    const stop = watchTip({
      supervisor: lease.supervisor,
      owner: membership.owner,
      apiKey: project(),
      databaseId,
      listener,
    })
    this.#ends.add(stop)
    return {
      [dispose]: () => {
        this.#ends.delete(stop)
        stop()
      },
    }
  }

  /** Asks the browser to keep this origin's data under storage pressure; true if it will. */
  async requestPersistence(): Promise<boolean> {
    this.#assertOpen()
    const storage = (navigator as { storage?: Partial<StorageManager> }).storage
    const persisted = (await storage?.persist?.()) ?? false
    await this.#parts.lease.supervisor.refreshEstimate()
    return persisted && this.status.storage === "opfs"
  }

  /** The Twirp plane, whatever the origin of the request. It adds no token. */
  fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    return this.fetchPublishing(publishDump, input, init)
  }

  /** As `fetch`, with the download URLs of dumps made of their files by `publish`. @internal */
  fetchPublishing(publish: typeof publishDump, input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const send: Parameters<typeof fetchTwirp>[0] = async (request) => {
      const life = await this.#life()
      return life.call((control) => control.twirp(request, proxy(asPublish(publish))))
    }
    return fetchTwirp(send, input, init)
  }

  /** Ends what was opened through this handle; the last handle of a name ends the service. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    await Promise.allSettled([...this.#connections].map((connection) => connection.deref()?.close()))
    for (const end of this.#ends) end()
    await this.#parts.lease.release()
  }

  /** A call on the management plane, in this handle's project. */
  async #manage<T>(send: (control: Remote<ServiceCalls>, apiKey: string) => Promise<Outcome<T>>): Promise<T> {
    const [life, apiKey] = await Promise.all([this.#life(), this.#parts.project()])
    return life.call((control) => send(control, apiKey))
  }

  #assertOpen(): void {
    if (this.#closing) throw new AgentDBError("closed", "this AgentDB handle was closed")
  }

  async #life() {
    this.#assertOpen()
    return this.#parts.lease.supervisor.life()
  }

  #announce(status: Status): void {
    this.dispatchEvent(new CustomEvent("statuschange", { detail: status }))
  }
}

/** As the worker calls it. */
const asPublish =
  (publish: typeof publishDump) =>
  async (...dump: Parameters<typeof publishDump>) =>
    publish(...dump)
