import { AgentDBError, type AgentDBServiceClient } from "../client/index.ts"
import type { AgentDB } from "../host/agentdb.ts"
import { download } from "./download.ts"
import { isOnline, online } from "./online.ts"
import { type RetryOptions, resolveRetry } from "./retry.ts"

export interface PullProgress {
  /** `waiting` is for the network. */
  readonly phase: "waiting" | "download" | "restore"
  readonly bytes: number
  /** Undefined while the server does not say. */
  readonly totalBytes: number | undefined
}

interface PullTarget {
  /** Where the new database is made. */
  readonly into: Pick<AgentDB, "restoreDatabase">
  readonly region?: string | undefined
  readonly ttlSeconds?: number | bigint | undefined
  readonly signal?: AbortSignal | undefined
  readonly retry?: RetryOptions | undefined
  readonly onProgress?: ((progress: PullProgress) => void) | undefined
  /** Wait for a network instead of trying without one, also when it goes in the middle. */
  readonly whenOnline?: boolean | undefined
}

/** From the address of a SQLite file, or from a database of a cloud. */
export type PullOptions = PullTarget &
  (
    | { readonly url: string | URL; readonly client?: undefined; readonly databaseId?: undefined }
    | {
        readonly client: Pick<AgentDBServiceClient, "dumpDatabase">
        readonly databaseId: string
        readonly url?: undefined
      }
  )

export interface PullResult {
  /** Of the new database. */
  readonly databaseId: string
  readonly expiresAt: number
  /** What the file may have lacked, for a person to read; empty most times. */
  readonly warnings: string[]
  /** Of the file. */
  readonly bytes: number
  /** Of the database of the cloud when it was dumped. */
  readonly sourceTip: number | undefined
}

/**
 * Brings a database from elsewhere into the browser, as a new one at tip 1. It is there whole, checked and durable, or
 * not at all. Broken connections are taken up again; memory is bounded.
 * @throws AgentDBError as `restoreDatabase`; `not_found`, `permission_denied` and their like for an answer that no
 * repetition would change, `unavailable` if the download failed too often
 */
export async function pullSnapshot(options: PullOptions): Promise<PullResult> {
  const { into, region, ttlSeconds, whenOnline = false, onProgress = () => {} } = options
  const signal = options.signal ?? new AbortController().signal
  if (signal.aborted) throw new AgentDBError("canceled", "canceled before it began")
  const awaitNetwork = async (bytes = 0, totalBytes?: number) => {
    // Else it is tried all the same: the file may be on this machine.
    if (isOnline() || !whenOnline) return
    onProgress({ phase: "waiting", bytes, totalBytes })
    await online(signal)
  }
  await awaitNetwork()
  const source = await locate(options, signal)
  const file = await download(source.url, {
    ...{ retry: resolveRetry(options.retry), signal, whenOnline, awaitNetwork },
    onProgress: (bytes, totalBytes) => onProgress({ phase: "download", bytes, totalBytes }),
  })
  const restored = await into.restoreDatabase(file, {
    ...{ region, ttlSeconds, signal },
    onProgress: (progress) => onProgress({ phase: "restore", ...progress }),
  })
  return { ...restored, bytes: file.size, sourceTip: source.tip }
}

async function locate(options: PullOptions, signal: AbortSignal): Promise<{ url: string; tip: number | undefined }> {
  if (options.url !== undefined) return { url: String(options.url), tip: undefined }
  const { downloadUrl, tip } = await options.client.dumpDatabase(options.databaseId, { signal })
  return { url: downloadUrl, tip }
}
