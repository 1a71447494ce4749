import { createHash, randomUUID } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { Transform } from "node:stream"
import { pipeline } from "node:stream/promises"

const prefix = "/snapshots/"
const fileName = /^DB_\w{1,64}\.sqlite$/
/** What is being received; a start sweeps what a kill left of it. */
const unfinished = /^receiving-.*\.part$/
/** A page of elsewhere whose name was pointed here is not let in. */
const ownHosts = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/**
 * Keeps the snapshots that the demo pushes, one file a database, as an object store does: PUT takes the whole body
 * or nothing and heeds If-Match and If-None-Match, GET and HEAD tell an ETag, and GET knows ranges. `/snapshots/`
 * lists them as JSON. It serves this machine only: there are no signatures.
 * @param {string} folder made when the first one comes
 * @returns {Promise<(request: import("node:http").IncomingMessage, response: import("node:http").ServerResponse) => Promise<boolean>>}
 *   whether the request was for it, and is answered
 */
export async function openSnapshotStore(folder) {
  for (const name of await namesIn(folder)) if (unfinished.test(name)) await rm(join(folder, name), { force: true })
  const store = new SnapshotStore(folder)
  return async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost")
    if (!pathname.startsWith(prefix)) return false
    try {
      await store.answer(request, response, pathname.slice(prefix.length))
    } catch (error) {
      // A visitor who leaves halfway is no error of the server's.
      if (!request.socket.destroyed) console.error(`${request.method} ${pathname}:`, error)
      if (response.headersSent || request.socket.destroyed) response.destroy()
      else say(response, 500, "the server can't do that")
    }
    return true
  }
}

/** @typedef {{ size: number, mtimeMs: number, sha256: string }} Known */

class SnapshotStore {
  #folder
  /** What was hashed, until the file changes. @type {Map<string, Known>} */
  #hashes = new Map()

  /** @param {string} folder */
  constructor(folder) {
    this.#folder = folder
  }

  /**
   * @param {import("node:http").IncomingMessage} request
   * @param {import("node:http").ServerResponse} response
   * @param {string} name
   */
  async answer(request, response, name) {
    const { method = "", headers } = request
    if (!ownHosts.test(headers.host ?? "")) return say(response, 403, "this is for pages of this machine")
    const reads = method === "GET" || method === "HEAD"
    if (name === "" && reads) return this.#list(response)
    if (!fileName.test(name)) return say(response, 404, "no such snapshot")
    if (reads) return this.#read(request, response, name)
    if (method === "PUT") return this.#write(request, response, name)
    say(response, 405, "GET, HEAD and PUT only", { allow: "GET, HEAD, PUT" })
  }

  /** @param {import("node:http").ServerResponse} response */
  async #list(response) {
    const found = []
    for (const name of await namesIn(this.#folder)) {
      const file = fileName.test(name) && (await stat(join(this.#folder, name)).catch(() => undefined))
      if (file) found.push({ name, size: file.size, savedAt: Math.floor(file.mtimeMs / 1000) })
    }
    found.sort((a, b) => b.savedAt - a.savedAt)
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" })
    response.end(JSON.stringify(found))
  }

  /**
   * @param {import("node:http").IncomingMessage} request
   * @param {import("node:http").ServerResponse} response
   * @param {string} name
   */
  async #read({ method, headers }, response, name) {
    const known = await this.#look(name)
    if (!known) return say(response, 404, "no such snapshot")
    const from = rangeStart(headers, known)
    if (from >= known.size && from > 0) return say(response, 416, "there is no more")
    response.writeHead(from > 0 ? 206 : 200, {
      "content-type": "application/vnd.sqlite3",
      "content-length": known.size - from,
      "accept-ranges": "bytes",
      "cache-control": "no-store",
      ...(from > 0 && { "content-range": `bytes ${from}-${known.size - 1}/${known.size}` }),
      ...versionOf(known),
    })
    if (method === "HEAD") response.end()
    else await pipeline(createReadStream(join(this.#folder, name), { start: from }), response)
  }

  /**
   * @param {import("node:http").IncomingMessage} request
   * @param {import("node:http").ServerResponse} response
   * @param {string} name
   */
  async #write(request, response, name) {
    const { headers } = request
    const isAllowed = async () => fits(headers, await this.#look(name))
    if (!(await isAllowed())) return refuse(request, response)
    await mkdir(this.#folder, { recursive: true })
    const part = join(this.#folder, `receiving-${randomUUID()}.part`)
    try {
      const hash = createHash("sha256")
      const hashing = new Transform({
        transform(chunk, _encoding, done) {
          hash.update(chunk)
          done(null, chunk)
        },
      })
      // A body that ends before its length is an error of the stream.
      await pipeline(request, hashing, createWriteStream(part, { flush: true }))
      const sha256 = hash.digest("hex")
      const told = headers["x-amz-checksum-sha256"]
      if (told !== undefined && told !== base64(sha256)) return say(response, 400, "<Code>BadDigest</Code>")
      // Somebody may have been quicker.
      if (!(await isAllowed())) return refuse(request, response)
      await rename(part, join(this.#folder, name))
      const { size, mtimeMs } = await stat(join(this.#folder, name))
      this.#hashes.set(name, { size, mtimeMs, sha256 })
      response.writeHead(200, versionOf({ sha256 })).end()
    } finally {
      await rm(part, { force: true })
    }
  }

  /** @param {string} name @returns {Promise<Known | undefined>} */
  async #look(name) {
    const path = join(this.#folder, name)
    const file = await stat(path).catch(() => undefined)
    if (!file) return undefined
    const { size, mtimeMs } = file
    const known = this.#hashes.get(name)
    if (known?.size === size && known.mtimeMs === mtimeMs) return known
    const hash = createHash("sha256")
    await pipeline(createReadStream(path), hash)
    const found = { size, mtimeMs, sha256: hash.digest("hex") }
    this.#hashes.set(name, found)
    return found
  }
}

/** @param {string} folder */
const namesIn = (folder) => readdir(folder).catch(() => /** @type {string[]} */ ([]))

/** @param {string} hex */
const base64 = (hex) => Buffer.from(hex, "hex").toString("base64")

/** @param {{ sha256: string }} known */
const versionOf = ({ sha256 }) => ({ etag: `"${sha256}"`, "x-amz-checksum-sha256": base64(sha256) })

/** @param {import("node:http").IncomingHttpHeaders} headers @param {Known | undefined} known */
function fits(headers, known) {
  const match = headers["if-match"]
  if (match !== undefined) return known !== undefined && (match === "*" || match === `"${known.sha256}"`)
  return headers["if-none-match"] !== "*" || known === undefined
}

/** @param {import("node:http").IncomingHttpHeaders} headers @param {Known} known */
function rangeStart(headers, { sha256 }) {
  const ifRange = headers["if-range"]
  if (ifRange !== undefined && ifRange !== `"${sha256}"`) return 0
  return Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0)
}

/** The body is read to its end first, since a browser that still sends may miss an answer. */
async function refuse(
  /** @type {import("node:http").IncomingMessage} */ request,
  /** @type {import("node:http").ServerResponse} */ response,
) {
  request.resume()
  await new Promise((resolve) => request.once("close", resolve).once("end", resolve))
  say(response, 412, "<Code>PreconditionFailed</Code>")
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {number} status
 * @param {string} text
 * @param {Record<string, string>} [headers]
 */
function say(response, status, text, headers = {}) {
  response.writeHead(status, { "content-type": "text/plain", ...headers }).end(text)
}
