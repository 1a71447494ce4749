import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  fromJsonString,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf"
import { AgentDBService } from "../gen/livekit_agentdb_pb.ts"
import type { DatabaseInfo } from "../wire/database-info.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Publish } from "./dumps.ts"
import type { Management } from "./management.ts"

export interface TwirpRequest {
  readonly method: string
  /** Path, or a whole URL of any origin. */
  readonly url: string
  readonly headers: Iterable<readonly [string, string]>
  readonly body: Uint8Array
}

export interface TwirpResponse {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Uint8Array<ArrayBuffer>
}

const prefix = "/twirp/livekit.AgentDBService/"
const encoder = new TextEncoder()

/** HTTP statuses of Twirp v7. */
const statuses: Readonly<Record<string, number>> = {
  canceled: 408,
  deadline_exceeded: 408,
  invalid_argument: 400,
  malformed: 400,
  out_of_range: 400,
  not_found: 404,
  bad_route: 404,
  already_exists: 409,
  aborted: 409,
  permission_denied: 403,
  unauthenticated: 401,
  resource_exhausted: 429,
  failed_precondition: 412,
  unimplemented: 501,
  unavailable: 503,
  internal: 500,
  unknown: 500,
  data_loss: 500,
}

/**
 * Answers one call of the management plane.
 * @param authorize gives the plane of the token's project, or throws `unauthenticated`.
 */
export async function answerTwirp(
  request: TwirpRequest,
  publish: Publish,
  authorize: (token: string) => Management,
): Promise<TwirpResponse> {
  try {
    const headers = new Map([...request.headers].map(([name, value]) => [name.toLowerCase(), value]))
    const method = route(request)
    const codec = codecOf(headers.get("content-type"), request)
    const management = authorize(bearerToken(headers.get("authorization")))
    const call = calls(management, publish, headers.get("x-livekit-request-id"))
    switch (method) {
      case "CreateDatabase":
        return await codec.answer(AgentDBService.method.createDatabase, call.create)
      case "GetDatabase":
        return await codec.answer(AgentDBService.method.getDatabase, call.get)
      case "ListDatabases":
        return await codec.answer(AgentDBService.method.listDatabases, call.list)
      case "DeleteDatabase":
        return await codec.answer(AgentDBService.method.deleteDatabase, call.delete)
      case "DumpDatabase":
        return await codec.answer(AgentDBService.method.dumpDatabase, call.dump)
      default:
        throw badRoute(request, `no method ${method}`)
    }
  } catch (error) {
    return twirpFailure(error)
  }
}

function calls(management: Management, publish: Publish, requestId: string | undefined) {
  return {
    create: async ({ region, ttlSeconds }: { region: string; ttlSeconds: bigint }) => {
      const { databaseId, expiresAt } = await management.create({ region, ttlSeconds, requestId })
      return { databaseId, expiresAt: BigInt(expiresAt) }
    },
    get: async ({ databaseId }: { databaseId: string }) => toMessage(await management.get(databaseId)),
    list: async (options: { pageSize: number; pageToken: string }) => {
      const { databases, nextPageToken } = await management.list(options)
      return { databases: databases.map(toMessage), nextPageToken }
    },
    delete: async ({ databaseId }: { databaseId: string }) => {
      await management.delete(databaseId)
      return {}
    },
    dump: async ({ databaseId }: { databaseId: string }) => {
      const { downloadUrl, expiresAt, tip } = await management.dump(databaseId, publish)
      return { downloadUrl, expiresAt: BigInt(expiresAt), tip: BigInt(tip) }
    },
  }
}

function toMessage({ databaseId, region, createdAt, expiresAt, tip }: DatabaseInfo) {
  return { databaseId, region, createdAt: BigInt(createdAt), expiresAt: BigInt(expiresAt), tip: BigInt(tip) }
}

/** Reads the body in one form and answers in the same. */
interface Codec {
  answer<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    run: (input: MessageShape<I>) => Promise<MessageInitShape<O>>,
  ): Promise<TwirpResponse>
}

function codecOf(contentType: string | undefined, request: TwirpRequest): Codec {
  switch (contentType?.split(";")[0]?.trim().toLowerCase()) {
    case "application/protobuf":
      return {
        answer: async (method, run) => {
          const input = undecodable(() => fromBinary(method.input, request.body))
          const output = create(method.output, await run(input))
          return response(200, "application/protobuf", toBinary(method.output, output))
        },
      }
    case "application/json":
      return {
        answer: async (method, run) => {
          const text = new TextDecoder("utf-8", { fatal: true })
          const input = undecodable(() =>
            fromJsonString(method.input, text.decode(request.body), { ignoreUnknownFields: true }),
          )
          const output = create(method.output, await run(input))
          const json = toJsonString(method.output, output, { alwaysEmitImplicit: true, useProtoFieldName: true })
          return response(200, "application/json", encoder.encode(json))
        },
      }
    default:
      throw badRoute(request, `unexpected content type ${JSON.stringify(contentType ?? "")}`)
  }
}

function route(request: TwirpRequest): string {
  const path = new URL(request.url, "http://localhost").pathname
  if (!path.startsWith(prefix)) throw badRoute(request, `no handler for path ${JSON.stringify(path)}`)
  if (request.method !== "POST") throw badRoute(request, `unsupported method ${request.method}, only POST is allowed`)
  return path.slice(prefix.length)
}

function bearerToken(header: string | undefined): string {
  const match = /^Bearer +(.+)$/i.exec(header?.trim() ?? "")
  return match?.[1] ?? ""
}

/** An error with a code that only Twirp knows. */
class TwirpError extends Error {
  readonly code: string
  readonly meta: Record<string, string> | undefined
  constructor(code: string, message: string, meta?: Record<string, string>) {
    super(message)
    this.code = code
    this.meta = meta
  }
}

function badRoute({ method, url }: TwirpRequest, message: string): TwirpError {
  const path = new URL(url, "http://localhost").pathname
  return new TwirpError("bad_route", message, { twirp_invalid_route: `${method} ${path}` })
}

function undecodable<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw new TwirpError("malformed", `the body cannot be decoded: ${AgentDBError.from(error).message}`)
  }
}

/** Any failure as an answer. */
export function twirpFailure(error: unknown): TwirpResponse {
  const known = error instanceof TwirpError ? error : AgentDBError.from(error)
  // An error of the SQL engine has no place in Twirp's list.
  const code = Object.hasOwn(statuses, known.code) ? known.code : "internal"
  const meta = known instanceof TwirpError && known.meta ? { meta: known.meta } : {}
  const body = JSON.stringify({ code, msg: known.message, ...meta })
  return response(statuses[code] as number, "application/json", encoder.encode(body))
}

function response(status: number, contentType: string, body: Uint8Array): TwirpResponse {
  return { status, headers: { "content-type": contentType }, body: body as Uint8Array<ArrayBuffer> }
}
