import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { twirpFailure, type TwirpResponse } from "../server/twirp.ts"
import { AgentDBError } from "../wire/errors.ts"
import { type DumpStore, slicesOf } from "./dump-store.ts"
import type { Log } from "./log.ts"
import type { WorkerLife } from "./worker-life.ts"

/** What a body of the management plane may have; its messages have some hundred bytes. */
const maxBodyBytes = 1024 * 1024

/** Tokens are in headers and never in cookies, so any origin may ask. */
const cors = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, HEAD, POST, OPTIONS",
  "access-control-allow-headers": "authorization, content-type, x-livekit-request-id",
  "access-control-max-age": "86400",
}

export interface HttpContext {
  readonly dumps: DumpStore
  readonly log: Log
  /** The worker that serves; undefined while there is none. */
  readonly life: () => WorkerLife | undefined
  /** How callers that say nothing better reach this server, as `http://host:port`. */
  readonly origin: () => string
}

/** Answers everything that is no WebSocket. Never rejects. */
export async function answerHttp(
  request: IncomingMessage,
  response: ServerResponse,
  context: HttpContext,
): Promise<void> {
  for (const [name, value] of Object.entries(cors)) response.setHeader(name, value)
  try {
    await route(request, response, context)
  } catch (error) {
    // A caller who leaves halfway is no error of ours.
    if (request.socket.destroyed) return
    context.log.warn(`${request.method} ${request.url} failed: ${AgentDBError.from(error).message}`)
    if (response.headersSent) response.destroy()
    else plain(response, 500, "internal error")
  }
}

async function route(request: IncomingMessage, response: ServerResponse, context: HttpContext): Promise<void> {
  const path = pathOf(request)
  if (request.method === "OPTIONS") response.writeHead(204).end()
  else if (path.startsWith("/twirp/")) await answerCall(request, response, context)
  else if (request.method !== "GET" && request.method !== "HEAD") plain(response, 404, "not found")
  else if (path === "/") plain(response, 200, "agentdb-web: Wire sockets at /db, management at /twirp/")
  else if (path === "/db") {
    response.setHeader("upgrade", "websocket")
    plain(response, 426, "this is the path of a WebSocket")
  } else {
    const file = context.dumps.get(path)
    if (file) await sendDump(request, response, file)
    else plain(response, 404, "not found")
  }
}

/** The path of a request, whatever its query; an address that cannot be read is no path of ours. */
export function pathOf({ url = "/" }: IncomingMessage): string {
  return URL.canParse(url, "http://localhost") ? new URL(url, "http://localhost").pathname : ""
}

async function answerCall(request: IncomingMessage, response: ServerResponse, context: HttpContext): Promise<void> {
  const body = await readBody(request)
  const { status, headers, body: bytes } = body ? await call(request, body, context) : tooLarge()
  // The rest of such a body is not worth reading.
  if (!body) response.setHeader("connection", "close")
  response.writeHead(status, { ...headers, "content-length": bytes.byteLength }).end(bytes)
}

async function call(request: IncomingMessage, body: Uint8Array, context: HttpContext): Promise<TwirpResponse> {
  const life = context.life()
  if (!life) return twirpFailure(new AgentDBError("unavailable", "the service is being started, or closed"))
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
  const { method = "", url = "" } = request
  return life.twirp({ method, url, headers, body }, originOf(request, context)).catch(twirpFailure)
}

function tooLarge(): TwirpResponse {
  return twirpFailure(new AgentDBError("resource_exhausted", `a body has at most ${maxBodyBytes} bytes`))
}

/** As the caller reached us: a dump's URL must work where it is, and a server knows only its own side. */
function originOf({ headers: { host = "" } }: IncomingMessage, context: HttpContext): string {
  const origin = `http://${host}`
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase() ? origin : context.origin()
}

/** Undefined for one that is too large; it stops reading there. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = []
  let size = Number(request.headers["content-length"] ?? 0)
  if (size > maxBodyBytes) return undefined
  size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).byteLength
    if (size > maxBodyBytes) return undefined
  }
  return Buffer.concat(chunks)
}

async function sendDump({ method }: IncomingMessage, response: ServerResponse, file: Blob): Promise<void> {
  response.writeHead(200, {
    "content-type": file.type,
    "content-length": file.size,
    "content-disposition": 'attachment; filename="agentdb.sqlite"',
    "cache-control": "no-store",
  })
  if (method === "HEAD") response.end()
  else await pipeline(Readable.from(slicesOf(file)), response)
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`)
}
