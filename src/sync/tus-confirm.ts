import { AgentDBError } from "../client/index.ts"
import { canceled } from "./online.ts"

interface Confirm {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly size: number
  readonly sha256: string
  readonly signal: AbortSignal
}

/**
 * Asks the server once more whether the upload is whole and for this content. One that has moved it elsewhere
 * already (403, 404, 410) has acknowledged every byte by then.
 * @throws AgentDBError `data_loss`, `unavailable`, `canceled`
 */
export async function confirmUpload({ url, headers, size, sha256, signal }: Confirm): Promise<void> {
  const request = { method: "HEAD", headers: { ...headers, "tus-resumable": "1.0.0" }, signal }
  const response = await fetch(url, request).catch((error: unknown) => {
    if (signal.aborted) throw canceled()
    throw new AgentDBError("unavailable", `the upload can't be asked for: ${error}`, { cause: error })
  })
  if ([403, 404, 410].includes(response.status)) return
  if (!response.ok) throw new AgentDBError("unavailable", `the upload answers HEAD with status ${response.status}`)
  const offset = response.headers.get("upload-offset")
  if (offset !== String(size)) throw new AgentDBError("data_loss", `the target has ${offset} bytes of ${size}`)
  const of = metadata(response.headers.get("upload-metadata")).get("sha256")
  if (of !== undefined && of !== sha256)
    throw new AgentDBError("data_loss", `the target has an upload of SHA-256 ${of}`)
}

/** `key base64,key base64`; a key may come alone. */
function metadata(header: string | null): Map<string, string> {
  const pairs = (header ?? "").split(",").map((pair) => pair.trim().split(" "))
  return new Map(pairs.map(([key = "", value = ""]) => [key, atob(value)]))
}
