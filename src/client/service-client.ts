import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import {
  type AgentDB_AgentDatabase as AgentDatabase,
  AgentDB_AgentDatabaseSchema as AgentDatabaseSchema,
  AgentDB_CreateRequestSchema as CreateRequestSchema,
  AgentDB_CreateResponseSchema as CreateResponseSchema,
  AgentDB_DeleteRequestSchema as DeleteRequestSchema,
  AgentDB_DeleteResponseSchema as DeleteResponseSchema,
  AgentDB_DumpRequestSchema as DumpRequestSchema,
  AgentDB_DumpResponseSchema as DumpResponseSchema,
  AgentDB_GetRequestSchema as GetRequestSchema,
  AgentDB_ListRequestSchema as ListRequestSchema,
  AgentDB_ListResponseSchema as ListResponseSchema,
} from "../gen/livekit_agentdb_pb.ts"
import { AgentDBError } from "../wire/errors.ts"
import { traced } from "./call-site.ts"
import type { CreatedDatabase, CreateOptions, DatabaseInfo, DatabasePage, Dump, ListOptions } from "./management.ts"
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
      const ttlSeconds = BigInt(whole("ttlSeconds", o.ttlSeconds ?? 0))
      const request = { region: o.region ?? "", ttlSeconds }
      // Idempotent by this id, whoever on the way sends it twice.
      const headers = { "x-livekit-request-id": requestId() }
      const answer = await this.#call(
        "CreateDatabase",
        CreateRequestSchema,
        request,
        CreateResponseSchema,
        call,
        headers,
      )
      return { databaseId: answer.databaseId, expiresAt: Number(answer.expiresAt) }
    })
  }

  getDatabase(databaseId: string, call?: CallOptions): Promise<DatabaseInfo> {
    return traced(async () =>
      toInfo(await this.#call("GetDatabase", GetRequestSchema, { databaseId }, AgentDatabaseSchema, call)),
    )
  }

  listDatabases(o: ListOptions = {}, call?: CallOptions): Promise<DatabasePage> {
    return traced(async () => {
      const request = { pageSize: Number(whole("pageSize", o.pageSize ?? 0)), pageToken: o.pageToken ?? "" }
      const answer = await this.#call("ListDatabases", ListRequestSchema, request, ListResponseSchema, call)
      return { databases: answer.databases.map(toInfo), nextPageToken: answer.nextPageToken }
    })
  }

  deleteDatabase(databaseId: string, call?: CallOptions): Promise<void> {
    return traced(async () => {
      await this.#call("DeleteDatabase", DeleteRequestSchema, { databaseId }, DeleteResponseSchema, call)
    })
  }

  dumpDatabase(databaseId: string, call?: CallOptions): Promise<Dump> {
    return traced(async () => {
      const answer = await this.#call("DumpDatabase", DumpRequestSchema, { databaseId }, DumpResponseSchema, call)
      return { downloadUrl: answer.downloadUrl, expiresAt: Number(answer.expiresAt), tip: Number(answer.tip) }
    })
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    method: string,
    input: I,
    request: MessageInitShape<I>,
    output: O,
    o: CallOptions | undefined,
    headers: Record<string, string> = {},
  ): Promise<MessageShape<O>> {
    const body = toBinary(input, create(input, request)) as Uint8Array<ArrayBuffer>
    const abort = new AbortController()
    const stop = new Stop(o)
    stop.onstop((error) => abort.abort(error))
    try {
      if (stop.error) throw stop.error
      const token = typeof this.#token === "function" ? await this.#token() : this.#token
      const response = await this.#fetch(this.#base + method, {
        method: "POST",
        headers: { ...headers, "content-type": "application/protobuf", authorization: `Bearer ${token}` },
        body,
        signal: abort.signal,
      })
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (!response.ok) throw toError(response.status, new TextDecoder().decode(bytes))
      return decode(output, bytes)
    } catch (error) {
      throw stop.error ?? unreached(error)
    } finally {
      stop.dispose()
    }
  }
}

function toInfo({ databaseId, region, createdAt, expiresAt, tip }: AgentDatabase): DatabaseInfo {
  return { databaseId, region, createdAt: Number(createdAt), expiresAt: Number(expiresAt), tip: Number(tip) }
}

/** Signs are the server's to judge, save where the field could not carry the number. */
function whole(field: string, value: number | bigint): number | bigint {
  const max = field === "pageSize" ? 2 ** 31 - 1 : 2n ** 63n - 1n
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value)
  if (isWhole && value >= 0 && value <= max) return value
  throw new AgentDBError("invalid_argument", `${field} must be a whole number from 0 to ${max}, got ${value}`)
}

function decode<O extends DescMessage>(schema: O, bytes: Uint8Array): MessageShape<O> {
  try {
    return fromBinary(schema, bytes)
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

function requestId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")
}
