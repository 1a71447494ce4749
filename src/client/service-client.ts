import type { DatabaseInfo } from "../wire/database-info.ts"
import { AgentDBError } from "../wire/errors.ts"
import { randomId } from "../wire/random-id.ts"
import { traced } from "./call-site.ts"
import { MessageReader, MessageWriter } from "./fields.ts"
import type { CreatedDatabase, CreateOptions, DatabasePage, Dump, ListOptions } from "./management.ts"
import { Stop } from "./stop.ts"
import type { CallOptions, Token } from "./types.ts"

/** The management plane over Twirp, with protobuf bodies. */
export class AgentDBServiceClient {
  readonly #base: string
  readonly #token: Token
  readonly #fetch: typeof fetch

  /** @param o `url` is the server's origin, http(s) or ws(s); `fetch` defaults to the global one. */
  constructor(o: { url: string; token: Token; fetch?: typeof fetch | undefined }) {
    this.#base = `${o.url.replace(/^ws/, "http").replace(/\/+$/, "")}/twirp/livekit.AgentDBService/`
    this.#token = o.token
    // Looked up at each call, and called without a `this` that it would refuse.
    this.#fetch = o.fetch ?? ((input, init) => fetch(input, init))
  }

  createDatabase(o: CreateOptions = {}, call?: CallOptions): Promise<CreatedDatabase> {
    return traced(async () => {
      const request = new MessageWriter().text(1, o.region ?? "").int(2, whole("ttlSeconds", o.ttlSeconds ?? 0))
      // Idempotent by this id, whoever on the way sends it twice.
      const answer = await this.#call("CreateDatabase", request, call, {
        "x-livekit-request-id": o.requestId || randomId(),
      })
      return { databaseId: answer.text(1), expiresAt: answer.number(2) }
    })
  }

  getDatabase(databaseId: string, call?: CallOptions): Promise<DatabaseInfo> {
    return traced(async () => toInfo(await this.#call("GetDatabase", byId(databaseId), call)))
  }

  listDatabases(o: ListOptions = {}, call?: CallOptions): Promise<DatabasePage> {
    return traced(async () => {
      const request = new MessageWriter().int(1, whole("pageSize", o.pageSize ?? 0)).text(2, o.pageToken ?? "")
      const answer = await this.#call("ListDatabases", request, call)
      const databases = answer.parts(1).map((part) => toInfo(new MessageReader(part)))
      return { databases, nextPageToken: answer.text(2) }
    })
  }

  deleteDatabase(databaseId: string, call?: CallOptions): Promise<void> {
    return traced(async () => {
      await this.#call("DeleteDatabase", byId(databaseId), call)
    })
  }

  dumpDatabase(databaseId: string, call?: CallOptions): Promise<Dump> {
    return traced(async () => {
      const answer = await this.#call("DumpDatabase", byId(databaseId), call)
      return { downloadUrl: answer.text(1), expiresAt: answer.number(2), tip: answer.number(3) }
    })
  }

  async #call(
    method: string,
    request: MessageWriter,
    o: CallOptions | undefined,
    headers: Record<string, string> = {},
  ): Promise<MessageReader> {
    const abort = new AbortController()
    const stop = new Stop(o)
    stop.onstop((error) => abort.abort(error))
    try {
      if (stop.error) throw stop.error
      const token = typeof this.#token === "function" ? await this.#token() : this.#token
      const response = await this.#fetch(this.#base + method, {
        method: "POST",
        headers: { ...headers, "content-type": "application/protobuf", authorization: `Bearer ${token}` },
        body: request.finish(),
        signal: abort.signal,
      })
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (!response.ok) throw toError(response.status, new TextDecoder().decode(bytes))
      return decode(bytes)
    } catch (error) {
      throw stop.error ?? unreached(error)
    } finally {
      stop.dispose()
    }
  }
}

/** GetRequest, DeleteRequest and DumpRequest are alike. */
function byId(databaseId: string): MessageWriter {
  if (typeof databaseId !== "string") throw new TypeError(`databaseId: expected a string, got ${typeof databaseId}`)
  return new MessageWriter().text(1, databaseId)
}

function toInfo(database: MessageReader): DatabaseInfo {
  return {
    databaseId: database.text(1),
    region: database.text(2),
    createdAt: database.number(3),
    expiresAt: database.number(4),
    tip: database.number(5),
  }
}

/** @throws AgentDBError `invalid_argument` by the field's name, before anything is sent. */
function whole(field: string, value: number | bigint): number | bigint {
  const max = field === "pageSize" ? 2 ** 31 - 1 : 2n ** 63n - 1n
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value)
  if (isWhole && value >= 0 && value <= max) return value
  throw new AgentDBError("invalid_argument", `${field} must be a whole number from 0 to ${max}, got ${value}`)
}

function decode(bytes: Uint8Array<ArrayBuffer>): MessageReader {
  try {
    return new MessageReader(bytes)
  } catch (cause) {
    throw new AgentDBError("invalid_response", "the answer cannot be decoded", { cause })
  }
}

/** What stands between client and server answers in its own way; only a status is left of its reason. */
function toError(status: number, body: string): AgentDBError {
  try {
    const { code, msg } = JSON.parse(body) as { code?: unknown; msg?: unknown }
    if (typeof code === "string") return new AgentDBError(code, typeof msg === "string" ? msg : "")
  } catch {
    // Not Twirp's.
  }
  const codes: Record<number, string> = {
    401: "unauthenticated",
    403: "permission_denied",
    404: "bad_route",
    429: "unavailable",
  }
  const code = codes[status] ?? (status >= 502 && status <= 504 ? "unavailable" : "internal")
  return new AgentDBError(code, `HTTP status ${status}`)
}

function unreached(error: unknown): unknown {
  // The one error that fetch itself fails with; whether the server had the request is unknown.
  return error instanceof TypeError ? new AgentDBError("disconnected", error.message, { cause: error }) : error
}
