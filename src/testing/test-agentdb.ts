import {
  AgentDBServiceClient,
  type Connection,
  type ConnectOptions,
  type CreatedDatabase,
  type CreateOptions,
  connect,
  type DatabaseInfo,
  type DatabasePage,
  type Dump,
  type ListOptions,
  type Token,
} from "../client/index.ts"
import { AgentDBError } from "../wire/errors.ts"
import { developmentKeys, type Keys, mintToken } from "../wire/jwt.ts"
import type { Address } from "./address.ts"
import type { LocalService } from "./local-service.ts"

/**
 * A test's own way to the service that the code under test talks to: to seed its databases,
 * and to look into them. Works in the project of the first API key.
 */
export class TestAgentDB implements AsyncDisposable {
  /** Where the code under test finds the Twirp plane. */
  readonly url: string
  /** Where it finds the socket. */
  readonly wsUrl: string
  /** @internal */
  protected readonly service: LocalService
  readonly #keys: Keys
  readonly #calls: AgentDBServiceClient
  readonly #connections = new Set<Connection>()

  /** Not for tests: `routeAgentDB` and `agentdbHandlers` give these. @internal */
  constructor(service: LocalService, { url, wsUrl }: Address, keys: Keys = developmentKeys) {
    this.url = url
    this.wsUrl = wsUrl
    this.service = service
    this.#keys = keys
    const fetch = (input: RequestInfo | URL, init?: RequestInit) => this.fetch(input, init)
    this.#calls = new AgentDBServiceClient({ url, token: () => this.token(), fetch })
  }

  /**
   * A token with the grant that opens the service, good for an hour.
   * @throws AgentDBError `invalid_argument` for a key that the service does not have.
   */
  token(apiKey: string | undefined = Object.keys(this.#keys)[0]): string {
    if (apiKey === undefined || !Object.hasOwn(this.#keys, apiKey)) {
      throw new AgentDBError("invalid_argument", `the service has no API key ${JSON.stringify(apiKey)}`)
    }
    return mintToken(apiKey, this.#keys[apiKey] as string, Math.floor(Date.now() / 1_000))
  }

  /** Creates an empty database. */
  createDatabase(o?: CreateOptions): Promise<CreatedDatabase> {
    return this.#calls.createDatabase(o)
  }

  getDatabase(id: string): Promise<DatabaseInfo> {
    return this.#calls.getDatabase(id)
  }

  /** Newest last; `pageToken` is the `nextPageToken` of the page before. */
  listDatabases(o?: ListOptions): Promise<DatabasePage> {
    return this.#calls.listDatabases(o)
  }

  /** Erases the database; sockets that are open on it end. */
  deleteDatabase(id: string): Promise<void> {
    return this.#calls.deleteDatabase(id)
  }

  /** A consistent SQLite file at `tip`; this object's `fetch` downloads it, as the code under test can. */
  dumpDatabase(id: string): Promise<Dump> {
    return this.#calls.dumpDatabase(id)
  }

  /** Connects to a database, on a socket of its own. The connection ends with this object. */
  async connect(
    databaseId: string,
    o: Omit<ConnectOptions, "link" | "databaseId" | "token"> & { token?: Token } = {},
  ): Promise<Connection> {
    const link = () => this.service.openLink()
    const connection = await connect({ token: () => this.token(), ...o, databaseId, link })
    this.#connections.add(connection)
    return connection
  }

  /** What the code under test would be answered, at the Twirp plane or for a dump. It adds no token. */
  async fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    return this.service.fetch(new Request(input, init))
  }

  /** Closes every socket with 1001 and ends the service; its databases are gone. Idempotent. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#connections].map((connection) => connection.close()))
    await this.service.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
