import { base64ToHex } from "./encoding.ts"

/** What a presigned URL of AWS Signature Version 4 says of itself; any other URL says nothing. */
export class PresignedUrl {
  readonly href: string
  /** Origin and path: which object it is of. */
  readonly target: string
  /** The SHA-256 that it was signed for, in hex; undefined if for any. */
  readonly sha256: string | undefined
  readonly #signedHeaders: ReadonlySet<string>
  readonly #expiresAt: number

  /** @throws TypeError for what is no URL */
  constructor(url: string | URL) {
    const { href, origin, pathname, searchParams } = new URL(url, globalThis.location?.href)
    const query = new Map([...searchParams].map(([name, value]) => [name.toLowerCase(), value]))
    this.href = href
    this.target = origin + pathname
    this.sha256 = base64ToHex(query.get("x-amz-checksum-sha256"))
    this.#signedHeaders = new Set(query.get("x-amz-signedheaders")?.toLowerCase().split(";"))
    this.#expiresAt = expiry(query.get("x-amz-date"), query.get("x-amz-expires"))
  }

  /** Whether the signature covers this header, so that it must and may be sent. */
  covers(header: string): boolean {
    return this.#signedHeaders.has(header)
  }

  /** By the clock of this machine. */
  get isExpired(): boolean {
    return Date.now() >= this.#expiresAt
  }
}

/** Unix milliseconds; infinite if unknown. `date` is like 20261201T021530Z. */
function expiry(date: string | undefined, seconds: string | undefined): number {
  const [, y, m, d, h, min, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date ?? "")?.map(Number) ?? []
  if (y === undefined || m === undefined || seconds === undefined) return Number.POSITIVE_INFINITY
  return Date.UTC(y, m - 1, d, h, min, s) + Number(seconds) * 1_000
}
