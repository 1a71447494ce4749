interface Download {
  /** Undefined once it was found expired; its address is known still. */
  file: Blob | undefined
  /** Unix seconds. */
  readonly expiresAt: number
}

/** Dumps under addresses that the patched `fetch` serves, until they expire. */
export class DumpDownloads {
  readonly #folder: string
  readonly #downloads = new Map<string, Download>()

  /** @param folder absolute URL, with a slash at its end. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** The address of `file` until `expiresAt` (Unix seconds). */
  readonly publish = (file: Blob, { expiresAt }: { expiresAt: number }): string => {
    const words = crypto.getRandomValues(new Uint32Array(4))
    const url = `${this.#folder}${Array.from(words, (word) => word.toString(36)).join("")}.sqlite`
    this.#downloads.set(url, { file, expiresAt })
    return url
  }

  has({ origin, pathname }: URL): boolean {
    return this.#downloads.has(origin + pathname)
  }

  /** Answers a request for an address that this `has`; 404 when it has expired. */
  answer({ method, url, signal }: Request): Response {
    signal.throwIfAborted()
    const { origin, pathname } = new URL(url)
    const file = this.#fileAt(origin + pathname)
    if (!file) return new Response("this dump has expired; ask for a new one", { status: 404 })
    if (method !== "GET" && method !== "HEAD")
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } })
    const headers = {
      "content-type": "application/vnd.sqlite3",
      "content-length": String(file.size),
      "content-disposition": 'attachment; filename="database.sqlite"',
      "cache-control": "no-store",
    }
    if (method === "HEAD") return new Response(null, { headers })
    const passed = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>()
    return new Response(file.stream().pipeThrough(passed, { signal }), { headers })
  }

  #fileAt(key: string): Blob | undefined {
    const download = this.#downloads.get(key)
    if (download && download.expiresAt * 1_000 <= Date.now()) download.file = undefined
    return download?.file
  }
}
