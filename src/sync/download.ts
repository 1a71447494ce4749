import { AgentDBError } from "../client/index.ts"
import { canceled, isOnline } from "./online.ts"
import { delayBefore, pause, type Retry, retryAfterMs } from "./retry.ts"

/** Pieces become Blobs, which the browser keeps on disk when they are many. */
const pieceBytes = 4 * 1024 * 1024

interface Received {
  readonly parts: Blob[]
  bytes: number
  /** Of what is being received; undefined if the server does not say, or names it weakly. */
  etag: string | undefined
  /** Undefined if the server does not say. */
  totalBytes: number | undefined
}

interface DownloadOptions {
  readonly retry: Retry
  readonly signal: AbortSignal
  /** A network that went is waited for, and no fault of the server's. */
  readonly whenOnline: boolean
  /** Before each attempt. */
  readonly awaitNetwork: (bytes: number, totalBytes: number | undefined) => Promise<void>
  readonly onProgress: (bytes: number, totalBytes: number | undefined) => void
}

/**
 * Fetches a file of any size. A connection that breaks is taken up where it was if the server serves ranges of what
 * it names by a strong ETag, and else from the start.
 * @throws AgentDBError `canceled`, `not_found` and its like for an answer that no repetition would change,
 * `unavailable` if it failed too often
 */
export async function download(url: string, options: DownloadOptions): Promise<Blob> {
  const { retry, signal, whenOnline, awaitNetwork, onProgress } = options
  let received = nothing()
  for (let failures = 0; ; ) {
    await awaitNetwork(received.bytes, received.totalBytes)
    const before = received.bytes
    let waitMs: number | undefined
    try {
      const response = await request(url, received, signal)
      if (response.ok) {
        if (!continues(response, received)) received = nothing(response)
        await receive(response, received, signal, onProgress)
        if (received.totalBytes === undefined || received.bytes === received.totalBytes) return new Blob(received.parts)
      } else {
        await response.body?.cancel()
        // What was there has changed or shrunk: begin again.
        if (response.status === 416) received = nothing()
        else if (!isPassing(response.status)) throw refusal(response.status)
        waitMs = retryAfterMs(response.headers.get("retry-after"))
      }
    } catch (error) {
      if (signal.aborted) throw canceled()
      if (error instanceof AgentDBError) throw error
    }
    if (received.bytes > before || (whenOnline && !isOnline())) failures = 0
    failures++
    if (failures >= retry.attempts) throw new AgentDBError("unavailable", `${withoutQuery(url)} can't be fetched`)
    await pause(waitMs ?? delayBefore(retry, failures), signal)
  }
}

function request(url: string, { bytes, etag }: Received, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = bytes > 0 && etag ? { range: `bytes=${bytes}-`, "if-range": etag } : {}
  return fetch(url, { headers, signal, cache: "no-store" })
}

function nothing(response?: Response): Received {
  const etag = response?.headers.get("etag")
  const length = response?.headers.get("content-length")
  // Of a compressed answer it is the length of something else.
  const isPlain = (response?.headers.get("content-encoding") ?? "identity") === "identity"
  return {
    parts: [],
    bytes: 0,
    etag: etag && !etag.startsWith("W/") ? etag : undefined,
    totalBytes: length && isPlain ? Number(length) : undefined,
  }
}

/** Whether the answer is the rest of what is there already. */
function continues(response: Response, { bytes }: Received): boolean {
  return response.status === 206 && response.headers.get("content-range")?.startsWith(`bytes ${bytes}-`) === true
}

/** Adds what comes, also of an answer that breaks off. */
async function receive(
  response: Response,
  received: Received,
  signal: AbortSignal,
  onProgress: (bytes: number, totalBytes: number | undefined) => void,
): Promise<void> {
  const reader = response.body?.getReader()
  let chunks: Uint8Array<ArrayBuffer>[] = []
  let waiting = 0
  const keep = () => {
    if (waiting > 0) received.parts.push(new Blob(chunks))
    received.bytes += waiting
    chunks = []
    waiting = 0
  }
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (signal.aborted) throw canceled()
      if (done || !value) return
      chunks.push(value as Uint8Array<ArrayBuffer>)
      waiting += value.length
      if (waiting >= pieceBytes) keep()
      onProgress(received.bytes + waiting, received.totalBytes)
    }
  } finally {
    keep()
  }
}

const isPassing = (status: number): boolean => status >= 500 || status === 408 || status === 429

function refusal(status: number): AgentDBError {
  const codes: Record<number, string> = {
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    410: "not_found",
  }
  return new AgentDBError(codes[status] ?? "failed_precondition", `the download was answered with ${status}`)
}

/** A query may hold a signature. */
const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, "")
