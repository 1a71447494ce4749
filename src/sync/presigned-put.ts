import {
  AgentDBError,
  type SinkOptions,
  type SinkResult,
  type SnapshotFile,
  type SnapshotSink,
  type SnapshotSource,
} from "../client/index.ts"
import { base64ToHex, hexToBase64 } from "./encoding.ts"
import { isOnline } from "./online.ts"
import { PresignedUrl } from "./presigned-url.ts"
import { NoAnswer, type PutAnswer, putBlob } from "./put-blob.ts"
import { askForObject, type RemoteObject } from "./remote-object.ts"
import { delayBefore, pause, type Retry, type RetryOptions, resolveRetry, retryAfterMs } from "./retry.ts"

/** What is to be signed. */
export interface SignRequest {
  databaseId: string
  tip: number
  /** Bytes. */
  size: number
  /** In hex. */
  sha256: string
  /** The same in base64, as `ChecksumSHA256` of S3 wants it. */
  checksumSha256: string
  /** `expired`: the URL before is not valid any more. `changed`: it was signed for other content. */
  reason: "first" | "expired" | "changed"
}

/** A URL that a PUT may go to. */
export interface SignedPut {
  url: string | URL
  /** Headers to send, such as those that were signed. */
  headers?: Readonly<Record<string, string>> | undefined
  /** A URL that a HEAD of the same object may go to. */
  head?: string | URL | undefined
}

export type Sign = (request: SignRequest) => string | URL | SignedPut | Promise<string | URL> | Promise<SignedPut>

interface CommonOptions {
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * A presigned URL for HEAD of the same object. With it a conflict shows before anything is uploaded, and an upload
   * whose answer was lost is known again afterwards.
   */
  head?: string | URL | undefined
  /** Called for a new URL when the one at hand has expired. */
  onExpired?: Sign | undefined
  /**
   * Only replace what this browser put there, by If-Match and If-None-Match; the default. False overwrites
   * anything, for stores that know no conditions.
   */
  conditional?: boolean | undefined
  /** The version that may be replaced although this browser did not put it there, such as one that was pulled. */
  etag?: string | undefined
  retry?: RetryOptions | undefined
  /** False for a server of this machine, which is tried although the browser believes to be offline. */
  needsNetwork?: boolean | undefined
  /** No byte for so long is a lost connection; default 120,000 ms. */
  stallMs?: number | undefined
}

export type PresignedPutOptions = CommonOptions &
  (
    | { url: string | URL; target?: string | undefined }
    /** A function is asked once the content is known. `target` names the place, for the memory of pushes. */
    | { url: Sign; target: string }
  )

/**
 * A sink that PUTs the database as one file to a presigned URL of S3 or of anything like it: the store takes the
 * whole file or nothing. The SHA-256 goes along if the URL is signed for it, and is compared with the answer's.
 *
 * @throws AgentDBError `invalid_argument` if `url` is none. For pushes see `pushSnapshot`; also `permission_denied`
 * for a signature that is refused, or that has expired with nobody to ask for a new one.
 */
export function presignedPut(options: PresignedPutOptions): SnapshotSink {
  const { url, needsNetwork = true } = options
  const target = options.target ?? (typeof url === "function" ? undefined : parse(url).target)
  if (!target) throw new AgentDBError("invalid_argument", "presignedPut: a `url` that is a function needs a `target`")
  const name = "presignedPut"
  return { name, target, needsNetwork, write: (source, sinkOptions) => new Upload(options, source, sinkOptions).run() }
}

/** A signature that was just made and is refused as expired again and again is a matter of clocks. */
const renewals = 3

interface Ready {
  readonly url: PresignedUrl
  readonly headers: Readonly<Record<string, string>>
  readonly head: string | undefined
}

/** One push, with its attempts. */
class Upload {
  readonly #options: PresignedPutOptions
  readonly #source: SnapshotSource
  readonly #sink: SinkOptions
  readonly #retry: Retry
  #ready: Ready | undefined

  constructor(options: PresignedPutOptions, source: SnapshotSource, sink: SinkOptions) {
    this.#options = options
    this.#source = source
    this.#sink = sink
    this.#retry = resolveRetry(options.retry)
  }

  async run(): Promise<SinkResult> {
    let failures = 0
    let renewed = 0
    for (;;) {
      const file = await this.#source.file()
      const ready = await this.#readyFor(file)
      const condition = await this.#condition(file, ready)
      if ("done" in condition) return condition.done
      const answer = await this.#put(file, ready, condition.headers)
      if (answer === undefined || isTransient(answer)) {
        if (++failures >= this.#retry.attempts || this.#isCutOff) throw unreachable(answer)
        const after = answer && retryAfterMs(answer.header("retry-after"))
        await pause(Math.max(after ?? 0, delayBefore(this.#retry, failures)), this.#sink.signal)
      } else if (isExpiry(answer, ready.url)) {
        if (++renewed > renewals || !this.#signer) throw expired()
        this.#ready = await this.#sign(this.#signer, file, "expired")
      } else if (answer.status === 412) {
        // An attempt may have arrived although its answer did not; browsers repeat requests by themselves, too.
        const own = await this.#stored(file, ready)
        if (own) return own
        throw conflict(ready.head === undefined)
      } else if (answer.status >= 200 && answer.status < 300) {
        return this.#verified(file, ready, answer)
      } else throw refusal(answer)
    }
  }

  get #isCutOff(): boolean {
    return this.#options.needsNetwork !== false && !isOnline()
  }

  get #signer(): Sign | undefined {
    const { url, onExpired } = this.#options
    return onExpired ?? (typeof url === "function" ? url : undefined)
  }

  /** A URL that is valid for this content, as far as can be seen. */
  async #readyFor(file: SnapshotFile): Promise<Ready> {
    const { url, headers = {}, head } = this.#options
    this.#ready ??=
      typeof url === "function"
        ? await this.#sign(url, file, "first")
        : { url: parse(url), headers, head: head?.toString() }
    if (this.#signer && this.#ready.url.isExpired) this.#ready = await this.#sign(this.#signer, file, "expired")
    if (isForOther(this.#ready, file)) {
      if (this.#signer) this.#ready = await this.#sign(this.#signer, file, "changed")
      if (isForOther(this.#ready, file)) {
        throw new AgentDBError("invalid_argument", "the URL is signed for the SHA-256 of other content")
      }
    }
    return this.#ready
  }

  async #sign(signer: Sign, file: SnapshotFile, reason: SignRequest["reason"]): Promise<Ready> {
    const { databaseId } = this.#source
    const { tip, sha256, blob } = file
    const checksumSha256 = hexToBase64(sha256)
    const signed = await signer({ databaseId, tip, size: blob.size, sha256, checksumSha256, reason })
    const { url, headers, head } =
      typeof signed === "string" || signed instanceof URL ? { url: signed, headers: {}, head: undefined } : signed
    return {
      url: parse(url),
      headers: { ...this.#options.headers, ...headers },
      head: (head ?? this.#options.head)?.toString(),
    }
  }

  /** What the target must hold for it to be overwritten, or the end of it if it holds this content. */
  async #condition(
    file: SnapshotFile,
    ready: Ready,
  ): Promise<{ headers: Record<string, string> } | { done: SinkResult }> {
    const { conditional = true, etag = this.#sink.last?.etag } = this.#options
    const { force, last, unfinished, signal } = this.#sink
    if (force || !conditional || hasCondition(ready.headers)) return { headers: {} }
    if (ready.head !== undefined) {
      const remote = await askForObject(ready.head, signal)
      if (!remote) return { headers: { "if-none-match": "*" } }
      if (remote.sha256 === file.sha256) return { done: resultOf(file, ready, remote.etag) }
      const known = [last?.sha256, unfinished?.sha256]
      const isOwn = remote.etag === etag || (remote.sha256 !== undefined && known.includes(remote.sha256))
      if (!isOwn || remote.etag === undefined) throw conflict()
      return { headers: { "if-match": remote.etag } }
    }
    if (etag !== undefined) return { headers: { "if-match": etag } }
    if (!last) return { headers: { "if-none-match": "*" } }
    throw new AgentDBError(
      "failed_precondition",
      "the answer to the push before did not show an ETag, so it can't be told whether the target changed since: " +
        "expose ETag by CORS, or give `head` or `conditional: false`",
    )
  }

  /** Undefined if no answer came. */
  async #put(file: SnapshotFile, { url, headers }: Ready, condition: Record<string, string>) {
    const { signal, onProgress } = this.#sink
    const totalBytes = file.blob.size
    const progress = (doneBytes: number) => onProgress({ phase: "uploading", doneBytes, totalBytes })
    progress(0)
    const checksum = url.covers("x-amz-checksum-sha256") && { "x-amz-checksum-sha256": hexToBase64(file.sha256) }
    const content = url.covers("x-amz-content-sha256") && { "x-amz-content-sha256": file.sha256 }
    try {
      return await putBlob({
        url: url.href,
        headers: { ...checksum, ...content, ...condition, ...headers },
        // Without a type of its own, since a Content-Type may be signed.
        body: file.blob.slice(),
        signal,
        stallMs: this.#options.stallMs ?? 120_000,
        onProgress: progress,
      })
    } catch (error) {
      if (error instanceof NoAnswer) return undefined
      throw error
    }
  }

  async #verified(file: SnapshotFile, ready: Ready, answer: PutAnswer): Promise<SinkResult> {
    const totalBytes = file.blob.size
    this.#sink.onProgress({ phase: "verifying", doneBytes: totalBytes, totalBytes })
    const stored = base64ToHex(answer.header("x-amz-checksum-sha256"))
    if (stored !== undefined && stored !== file.sha256) throw mismatch(`SHA-256 ${stored}`)
    const etag = answer.header("etag") ?? undefined
    if (stored !== undefined || ready.head === undefined) return resultOf(file, ready, etag)
    const remote = await askForObject(ready.head, this.#sink.signal)
    if (!remote || (remote.size ?? totalBytes) !== totalBytes) throw mismatch(`${remote?.size ?? 0} bytes`)
    if (remote.sha256 !== undefined && remote.sha256 !== file.sha256) throw mismatch(`SHA-256 ${remote.sha256}`)
    return resultOf(file, ready, etag ?? remote.etag)
  }

  /** The result if the target holds this very content. */
  async #stored(file: SnapshotFile, ready: Ready): Promise<SinkResult | undefined> {
    if (ready.head === undefined) return undefined
    const remote: RemoteObject | undefined = await askForObject(ready.head, this.#sink.signal)
    return remote?.sha256 === file.sha256 ? resultOf(file, ready, remote.etag) : undefined
  }
}

function parse(url: string | URL): PresignedUrl {
  try {
    return new PresignedUrl(url)
  } catch (error) {
    throw new AgentDBError("invalid_argument", `presignedPut: not a URL: ${String(url).split("?")[0]}`, {
      cause: error,
    })
  }
}

function resultOf({ blob, sha256, tip }: SnapshotFile, { url }: Ready, etag: string | undefined): SinkResult {
  return { size: blob.size, sha256, tip, url: url.target, ...(etag !== undefined && { etag }) }
}

const isForOther = ({ url }: Ready, { sha256 }: SnapshotFile) => url.sha256 !== undefined && url.sha256 !== sha256

const hasCondition = (headers: Readonly<Record<string, string>>) =>
  Object.keys(headers).some((name) => /^if-(none-)?match$/i.test(name))

/** 409: somebody else writes the object at this moment. */
const isTransient = ({ status, text }: PutAnswer) =>
  (status >= 500 && status !== 501) ||
  status === 429 ||
  status === 408 ||
  (status === 409 && text.includes("ConditionalRequestConflict"))

/** S3 says AccessDenied with "Request has expired"; others say so in a code. */
const isExpiry = ({ status, text }: PutAnswer, url: PresignedUrl) =>
  status === 403 && (url.isExpired || /expired/i.test(text))

const unreachable = (answer: PutAnswer | undefined) =>
  new AgentDBError(
    "unavailable",
    answer ? `the target answers with status ${answer.status}` : "no answer from the target",
  )

const expired = () =>
  new AgentDBError("permission_denied", "the signature of the URL has expired, and `onExpired` gave no valid one")

const conflict = (mayBeOwn = false) =>
  new AgentDBError(
    "failed_precondition",
    "the target holds a snapshot that this browser did not put there; pull it first, or push with `force`" +
      (mayBeOwn ? ". If it may be an attempt of this browser whose answer was lost: with `head` that can be told" : ""),
  )

const mismatch = (what: string) => new AgentDBError("data_loss", `the target has stored something else: ${what}`)

/** What S3 calls a body that does not fit its checksum. */
const checksumCodes = /BadDigest|InvalidDigest|XAmzContentChecksumMismatch|XAmzContentSHA256Mismatch/

function refusal({ status, text }: PutAnswer): AgentDBError {
  const said = /<Code>([^<]*)<\/Code>(?:\s*<Message>([^<]*)<\/Message>)?/.exec(text)
  const message = `the target refuses with status ${status}${said ? `: ${said.slice(1).filter(Boolean).join(", ")}` : ""}`
  if (checksumCodes.test(text)) return new AgentDBError("data_loss", message)
  return new AgentDBError(codeOf(status), message)
}

function codeOf(status: number): string {
  if (status === 401 || status === 403) return "permission_denied"
  if (status === 404) return "not_found"
  if (status === 409) return "failed_precondition"
  if (status === 413 || status === 507) return "resource_exhausted"
  if (status === 501) return "unimplemented"
  return "invalid_argument"
}
