import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { AgentDBError } from "../wire/errors.ts"
import { answer, broken, type HttpAnswer, type HttpSource, maxBodyBytes, wantsBody } from "./answer.ts"
import { DumpFile } from "./dump-store.ts"
import type { Log } from "./log.ts"

export interface HttpContext extends HttpSource {
  readonly log: Log
  /** How callers that say nothing better reach this server, as `http://host:port`. */
  readonly origin: () => string
}

/** Answers everything that is no WebSocket. Never rejects. */
export async function answerHttp(
  request: IncomingMessage,
  response: ServerResponse,
  context: HttpContext,
): Promise<void> {
  try {
    await send(request, response, await answerOf(request, response, context))
  } catch (error) {
    // A caller who leaves halfway is no error of ours.
    if (request.socket.destroyed) return
    context.log.warn(`${request.method} ${request.url} failed: ${AgentDBError.from(error).message}`)
    if (response.headersSent) response.destroy()
    else await send(request, response, broken())
  }
}

async function answerOf(request: IncomingMessage, response: ServerResponse, context: HttpContext): Promise<HttpAnswer> {
  const { method = "", url = "/" } = request
  const body = wantsBody({ method, url }) ? await readBody(request) : new Uint8Array()
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
  // The rest of such a body is not worth reading.
  if (!body) response.setHeader("connection", "close")
  return answer({ method, url, headers, body, origin: originOf(request, context) }, context)
}

/** As the caller reached us. */
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

async function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: HttpAnswer,
): Promise<void> {
  const length = body instanceof DumpFile ? body.size : body.byteLength
  response.writeHead(status, status === 204 ? { ...headers } : { ...headers, "content-length": length })
  if (method === "HEAD") response.end()
  else if (body instanceof DumpFile) await pipeline(Readable.from(body.slices()), response)
  else response.end(body)
}
