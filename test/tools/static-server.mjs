import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { createServer } from "node:http"
import { extname, join, normalize } from "node:path"
import { pipeline } from "node:stream/promises"

/** @type {Record<string, string>} */
const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
}

/**
 * @typedef {(request: import("node:http").IncomingMessage, response: import("node:http").ServerResponse) => Promise<boolean>} Handler
 *   whether the request was for it, and is answered
 */

/**
 * Serves a folder of files: GET and HEAD, index.html for a folder, 404 for anything that is not there.
 * @param {string} folder
 * @param {{ port?: number, host?: string, headers?: Record<string, string>, before?: Handler }} [options]
 *   port 0, the default, takes any free one; `before` is asked before the folder
 * @returns {Promise<{ port: number, url: string, close(): Promise<void> }>}
 *   rejects with the system's error (`code` "EADDRINUSE", ...) where it cannot listen
 */
export function serveFolder(folder, { port = 0, host = "127.0.0.1", headers = {}, before } = {}) {
  const server = createServer(async (request, response) => {
    if (await before?.(request, response)) return
    const found = request.method === "GET" || request.method === "HEAD" ? await find(folder, request.url) : undefined
    if (!found) {
      response.writeHead(404, { "content-type": "text/plain", ...headers }).end("not found")
      return
    }
    response.writeHead(200, {
      "content-type": types[extname(found.path)] ?? "application/octet-stream",
      "content-length": found.size,
      "cache-control": "no-cache",
      ...headers,
    })
    if (request.method === "HEAD") response.end()
    // A visitor who leaves halfway is no error of the server's.
    else await pipeline(createReadStream(found.path), response).catch(() => {})
  })
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, host, () => {
      const address = server.address()
      const taken = typeof address === "object" && address ? address.port : port
      resolve({
        port: taken,
        url: `http://${host}:${taken}`,
        close: () =>
          new Promise((done) => {
            server.close(() => done())
            server.closeAllConnections()
          }),
      })
    })
  })
}

/** @param {string} folder @param {string | undefined} url */
async function find(folder, url) {
  let path
  try {
    path = normalize(decodeURIComponent(new URL(url ?? "/", "http://localhost").pathname))
  } catch {
    return undefined
  }
  for (const candidate of [join(folder, path), join(folder, path, "index.html")]) {
    const found = await stat(candidate).catch(() => undefined)
    if (found?.isFile()) return { path: candidate, size: found.size }
  }
  return undefined
}
