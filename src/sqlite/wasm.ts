import { AgentDBError } from "../wire/errors.ts"

/** @throws AgentDBError `internal` that names the URL, and says so if a web page came back instead. */
export async function instantiateWasm(
  source: URL | string | BufferSource,
  imports: WebAssembly.Imports,
): Promise<WebAssembly.WebAssemblyInstantiatedSource> {
  if (typeof source !== "string" && !(source instanceof URL)) return WebAssembly.instantiate(source, imports)
  const url = String(source)
  const response = await fetchWasm(url)
  const type = response.headers.get("content-type") ?? ""
  // Streaming insists on this type, bare; any other may still be wasm from a server that does not know it.
  if (type.toLowerCase() === "application/wasm") {
    return WebAssembly.instantiateStreaming(response, imports).catch((cause: unknown) =>
      Promise.reject(failure(url, cause)),
    )
  }
  const bytes = await response.arrayBuffer()
  if (new DataView(bytes).byteLength < 4 || new DataView(bytes).getUint32(0) !== 0x0061_736d) {
    const found = /html/i.test(type) || startsLikeHtml(bytes) ? "an HTML page" : `something else (${type || "no type"})`
    throw failure(url, `${found} came back instead of WebAssembly`)
  }
  return WebAssembly.instantiate(bytes, imports).catch((cause: unknown) => Promise.reject(failure(url, cause)))
}

async function fetchWasm(url: string): Promise<Response> {
  const response = await fetch(url, { credentials: "same-origin" }).catch((cause: unknown) => {
    throw failure(url, cause)
  })
  if (!response.ok) throw failure(url, `status ${response.status}`)
  return response
}

function startsLikeHtml(bytes: ArrayBuffer): boolean {
  return new TextDecoder().decode(bytes.slice(0, 64)).trimStart().startsWith("<")
}

function failure(url: string, cause: unknown): AgentDBError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new AgentDBError("internal", `cannot load SQLite from ${url}: ${reason}`, { cause })
}
