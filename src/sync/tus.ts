import type { DetailedError, Upload } from "tus-js-client"
import {
  AgentDBError,
  type SinkOptions,
  type SinkResult,
  type SnapshotFile,
  type SnapshotSink,
  type SnapshotSource,
} from "../client/index.ts"
import { canceled, isOnline } from "./online.ts"
import { delayBefore, type RetryOptions, resolveRetry } from "./retry.ts"
import { confirmUpload } from "./tus-confirm.ts"

export interface TusOptions {
  /** Where uploads are created. */
  endpoint: string | URL
  /** Sent with each request, such as Authorization; a function is asked at the start of each push. */
  headers?: Readonly<Record<string, string>> | (() => Record<string, string> | Promise<Record<string, string>>)
  /** More for Upload-Metadata. */
  metadata?: Readonly<Record<string, string>>
  /** Bytes of a request, for servers and proxies that limit them; by default the whole rest goes in one. */
  chunkBytes?: number
  retry?: RetryOptions
}

/**
 * A sink that uploads the database as one file by tus 1.0, which goes on where it was cut: after a lost connection,
 * and after a reload of the page if the database has not changed since. Each push is an upload of its own, and the
 * server has it as complete only when its last byte is there.
 *
 * Upload-Metadata has `filename`, `filetype`, `databaseId`, `tip`, `sha256`, and `replaces`, the SHA-256 of the last
 * complete push. A server that wants no older snapshot over a newer one compares `replaces` and answers the creation
 * with 409 or 412 (`failed_precondition`); one that checks the content answers the last PATCH with 460 (`data_loss`).
 *
 * @throws AgentDBError `invalid_argument` if `endpoint` is no URL. For pushes see `pushSnapshot`.
 */
export function tus(options: TusOptions): SnapshotSink {
  const endpoint = parse(options.endpoint)
  return {
    name: "tus",
    target: endpoint.origin + endpoint.pathname,
    write: (source, sinkOptions) => write(options, endpoint.href, source, sinkOptions),
  }
}

/** What is remembered of an upload, to go on with it. */
interface Resume {
  readonly url: string
  readonly sha256: string
}

async function write(
  options: TusOptions,
  endpoint: string,
  source: SnapshotSource,
  sink: SinkOptions,
): Promise<SinkResult> {
  // By then only, so that pages which push elsewhere never load it.
  const client = await import("tus-js-client")
  const file = await source.file()
  const headers = { ...(typeof options.headers === "function" ? await options.headers() : options.headers) }
  const resume = parseResume(sink.unfinished?.resume)
  const goesOn = resume?.sha256 === file.sha256
  // Of other content, so nobody will ever end it. Servers that can't remove uploads let them expire.
  if (resume && !goesOn) {
    await client.Upload.terminate(resume.url, { headers, retryDelays: null }).catch(() => {})
    await sink.remember("")
  }
  const url = await send(client.Upload, {
    ...{ options, endpoint, headers, file, sink },
    databaseId: source.databaseId,
    uploadUrl: goesOn ? resume.url : undefined,
  })
  const totalBytes = file.blob.size
  sink.onProgress({ phase: "verifying", doneBytes: totalBytes, totalBytes })
  await confirmUpload({ url, headers, size: totalBytes, sha256: file.sha256, signal: sink.signal })
  return { size: totalBytes, sha256: file.sha256, tip: file.tip, url }
}

interface Sending {
  readonly options: TusOptions
  readonly endpoint: string
  readonly headers: Record<string, string>
  readonly file: SnapshotFile
  readonly sink: SinkOptions
  readonly databaseId: string
  /** Of an upload to go on with. */
  readonly uploadUrl: string | undefined
}

/** Resolves with the upload's URL once the server has every byte. */
function send(Client: typeof Upload, sending: Sending): Promise<string> {
  const { options, endpoint, headers, file, sink, databaseId, uploadUrl } = sending
  const { signal, onProgress, remember, last, force } = sink
  const retry = resolveRetry(options.retry)
  return new Promise((resolve, reject) => {
    const upload = new Client(file.blob, {
      endpoint,
      ...(uploadUrl !== undefined && { uploadUrl }),
      headers,
      metadata: {
        ...options.metadata,
        filename: `${databaseId}.sqlite`,
        filetype: "application/vnd.sqlite3",
        databaseId,
        tip: String(file.tip),
        sha256: file.sha256,
        ...(last && !force && { replaces: last.sha256 }),
        ...(force && { force: "true" }),
      },
      ...(options.chunkBytes !== undefined && { chunkSize: options.chunkBytes }),
      parallelUploads: 1,
      // It is remembered with the push.
      storeFingerprintForResuming: false,
      retryDelays: Array.from({ length: retry.attempts - 1 }, (_, n) => delayBefore(retry, n + 1)),
      onShouldRetry: (error) => isOnline() && !isConflict(error) && isTransient(statusOf(error)),
      onUploadUrlAvailable: () => {
        const resume: Resume = { url: upload.url ?? "", sha256: file.sha256 }
        remember(JSON.stringify(resume)).catch(stop)
      },
      onProgress: (doneBytes, totalBytes) => onProgress({ phase: "uploading", doneBytes, totalBytes }),
      onSuccess: () => {
        signal.removeEventListener("abort", abort)
        resolve(upload.url ?? "")
      },
      onError: (error) => stop(refusal(error)),
    })
    const stop = (error: unknown) => {
      signal.removeEventListener("abort", abort)
      // What the server has stays there, for the next push to go on with.
      upload.abort(false).catch(() => {})
      reject(error)
    }
    const abort = () => stop(canceled())
    if (signal.aborted) return reject(canceled())
    signal.addEventListener("abort", abort, { once: true })
    upload.start()
  })
}

function parse(endpoint: string | URL): URL {
  try {
    return new URL(endpoint, globalThis.location?.href)
  } catch (error) {
    throw new AgentDBError("invalid_argument", `tus: not a URL: ${endpoint}`, { cause: error })
  }
}

function parseResume(text: string | undefined): Resume | undefined {
  return text ? (JSON.parse(text) as Resume) : undefined
}

/** Undefined if no answer came. */
const statusOf = (error: Error | DetailedError): number | undefined =>
  "originalResponse" in error ? error.originalResponse?.getStatus() : undefined

/** 409: bytes were lost on the way, and the offset is asked for anew. 423: the cut request still holds the upload. */
const isTransient = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || [0, 408, 409, 423, 429].includes(status)

/** The server does not want this snapshot: a 409 of a creation has nothing to do with offsets. */
const isConflict = (error: Error | DetailedError): boolean =>
  "originalRequest" in error && error.originalRequest?.getMethod() === "POST" && statusOf(error) === 409

function refusal(error: Error | DetailedError): AgentDBError {
  const status = statusOf(error)
  const said = "originalResponse" in error ? error.originalResponse?.getBody() : ""
  const message =
    status === undefined ? "no answer from the target" : `the target answers with status ${status}: ${said}`
  return new AgentDBError(isConflict(error) ? "failed_precondition" : codeOf(status), message, { cause: error })
}

function codeOf(status: number | undefined): string {
  if (status === 460) return "data_loss"
  if (status === 412) return "failed_precondition"
  if (isTransient(status)) return "unavailable"
  if (status === 401 || status === 403) return "permission_denied"
  if (status === 404 || status === 410) return "not_found"
  if (status === 413 || status === 507) return "resource_exhausted"
  return "invalid_argument"
}
