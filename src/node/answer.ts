import { twirpFailure } from "../server/twirp.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { DumpFile, DumpStore } from "./dump-store.ts"
import { pathOf, socketPath } from "./path.ts"
import type { WorkerLife } from "./worker-life.ts"

/** What a body of the management plane may have; its messages have some hundred bytes. */
export const maxBodyBytes = 1024 * 1024

/** A request, however it came. */
export interface HttpRequest {
  readonly method: string
  /** Path, or a whole URL. */
  readonly url: string
  readonly headers: readonly (readonly [string, string])[]
  /** Undefined for one that is larger than `maxBodyBytes`. */
  readonly body: Uint8Array | undefined
  /** How the caller reached us: a dump's URL must work where it is, and the service knows only its own side. */
  readonly origin: string
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A dump's is read as it is sent. To HEAD its headers alone are the answer. */
  readonly body: Uint8Array<ArrayBuffer> | DumpFile
}

/** What requests are answered from. */
export interface HttpSource {
  readonly dumps: DumpStore
  /** The worker that serves; undefined while there is none. */
  readonly life: () => WorkerLife | undefined
}

/** Tokens are in headers and never in cookies, so any origin may ask, with whatever headers its client sends. */
const cors = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, HEAD, POST, OPTIONS",
  // The wildcard is not for this one.
  "access-control-allow-headers": "authorization, *",
  "access-control-max-age": "86400",
}

/** Whether the body of such a request is of any interest. */
export const wantsBody = ({ method, url }: Pick<HttpRequest, "method" | "url">): boolean =>
  method !== "OPTIONS" && pathOf(url).startsWith("/twirp/")

/** Answers everything that is no WebSocket. */
export async function answer(request: HttpRequest, source: HttpSource): Promise<HttpAnswer> {
  return open(await route(request, source))
}

/** For what should not have happened. */
export const broken = (): HttpAnswer => open(plain(500, "internal error"))

const open = ({ status, headers, body }: HttpAnswer): HttpAnswer => ({ status, headers: { ...cors, ...headers }, body })

async function route(request: HttpRequest, source: HttpSource): Promise<HttpAnswer> {
  const { method } = request
  const path = pathOf(request.url)
  if (wantsBody(request)) return call(request, source)
  if (method === "OPTIONS") return { status: 204, headers: {}, body: new Uint8Array() }
  if (method !== "GET" && method !== "HEAD") return plain(404, "not found")
  if (path === "/") return plain(200, `agentdb-web: Wire sockets at ${socketPath}, management at /twirp/`)
  if (path === socketPath) return plain(426, "this is the path of a WebSocket", { upgrade: "websocket" })
  const file = source.dumps.get(path)
  return file ? download(file) : plain(404, "not found")
}

async function call(request: HttpRequest, { life }: HttpSource): Promise<HttpAnswer> {
  const { method, url, headers, body, origin } = request
  if (!body || body.byteLength > maxBodyBytes) {
    return twirpFailure(new AgentDBError("resource_exhausted", `a body has at most ${maxBodyBytes} bytes`))
  }
  const serving = life()
  if (!serving) return twirpFailure(new AgentDBError("unavailable", "the service is being started, or closed"))
  return serving.twirp({ method, url, headers, body }, origin).catch(twirpFailure)
}

function download(file: DumpFile): HttpAnswer {
  const headers = {
    "content-type": "application/vnd.sqlite3",
    "content-length": String(file.size),
    "content-disposition": 'attachment; filename="agentdb.sqlite"',
    "cache-control": "no-store",
  }
  return { status: 200, headers, body: file }
}

function plain(status: number, text: string, headers: Record<string, string> = {}): HttpAnswer {
  const body = new TextEncoder().encode(`${text}\n`)
  return { status, headers: { ...headers, "content-type": "text/plain; charset=utf-8" }, body }
}
