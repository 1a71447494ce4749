import { AgentDBError } from "../client/index.ts"
import { base64ToHex } from "./encoding.ts"
import { canceled } from "./online.ts"

/** What a store says of an object. */
export interface RemoteObject {
  readonly etag: string | undefined
  readonly size: number | undefined
  /** In hex, where the store keeps it. */
  readonly sha256: string | undefined
}

/**
 * Asks a store for what it has.
 * @returns undefined if there is no such object
 * @throws AgentDBError `unavailable`, `permission_denied`, `canceled`
 */
export async function askForObject(url: string, signal: AbortSignal): Promise<RemoteObject | undefined> {
  const response = await fetch(url, { method: "HEAD", signal, cache: "no-store" }).catch((error: unknown) => {
    if (signal.aborted) throw canceled()
    throw new AgentDBError("unavailable", `the target can't be asked for what it holds: ${error}`, { cause: error })
  })
  if (response.status === 404) return undefined
  if (!response.ok) {
    const code = response.status >= 500 || response.status === 429 ? "unavailable" : "permission_denied"
    throw new AgentDBError(code, `the target answers HEAD with status ${response.status}`)
  }
  const { headers } = response
  const size = headers.get("content-length")
  return {
    etag: headers.get("etag") ?? undefined,
    size: size === null ? undefined : Number(size),
    sha256: base64ToHex(headers.get("x-amz-checksum-sha256")) ?? headers.get("x-amz-meta-sha256") ?? undefined,
  }
}
