import type { SignalNotice } from "../link/link.ts"

/** A poll by URL costs 0.5 to 3 ms, so the first comes after this long and then no more often. */
const pollMs = 50
/** Notices, of either kind, whose frames have not come yet. */
const maxPending = 1024
const maxUrlLength = 2048

/**
 * Reads a `blob:` URL synchronously and tells whether it is alive. Only the host
 * of a browser has one.
 */
export type ReadUrl = (url: string) => boolean

/** Drains the ids that a client has put into its ring since the last call. */
export interface CancelRing {
  drain(): number[]
}

/** How one socket's running statements learn of a cancel while the worker cannot reach its event loop. */
export class CancelSignals {
  readonly #readUrl: ReadUrl | undefined
  readonly #openRing: (sab: SharedArrayBuffer) => CancelRing | undefined
  readonly #onRing: (requestId: number) => void
  #ring: CancelRing | undefined
  #probe: string | undefined
  #probeAlive: boolean | undefined
  readonly #urls = new Map<number, string>()
  /** How often the ring named an id whose Cancel frames have not come yet. */
  readonly #ahead = new Map<number, number>()

  /** @param onRing told each id that the ring names. */
  constructor(
    readUrl: ReadUrl | undefined,
    openRing: (sab: SharedArrayBuffer) => CancelRing | undefined,
    onRing: (requestId: number) => void,
  ) {
    this.#readUrl = readUrl
    this.#openRing = openRing
    this.#onRing = onRing
  }

  accept(notice: SignalNotice): void {
    if ("sab" in notice) this.#ring ??= this.#openRing(notice.sab)
    else if ("probe" in notice) {
      if (isBlobUrl(notice.probe)) this.#probe ??= notice.probe
    } else if (isBlobUrl(notice.url) && this.#urls.size < maxPending) this.#urls.set(notice.requestId, notice.url)
  }

  /** The URL that was announced for the request which now comes. */
  takeUrl(requestId: number): string | undefined {
    const url = this.#urls.get(requestId)
    this.#urls.delete(requestId)
    return url
  }

  /**
   * Whether the ring has named the request that now comes. An id goes into the ring before its Cancel
   * frame is sent, so an id without a frame so far means what comes between: this request. One whose
   * frame came meant an earlier request.
   */
  isAhead(requestId: number): boolean {
    this.#drain()
    return this.#ahead.has(requestId)
  }

  /** The Cancel frame came. */
  settle(requestId: number): void {
    this.#drain()
    const count = this.#ahead.get(requestId) ?? 0
    if (count > 1) this.#ahead.set(requestId, count - 1)
    else this.#ahead.delete(requestId)
  }

  /** The poll of one request, from inside its running statement. */
  poller(url: string | undefined, isMarked: () => boolean): (ranMs: number) => boolean {
    let next = pollMs
    return (ranMs) => {
      this.#drain()
      if (isMarked()) return true
      if (url === undefined || ranMs < next) return false
      const read = this.#readUrl
      if (!read || !this.#works(read)) return false
      next = ranMs + pollMs
      return !read(url)
    }
  }

  #drain(): void {
    for (const id of this.#ring?.drain() ?? []) {
      const count = this.#ahead.get(id)
      if (count !== undefined || this.#ahead.size < maxPending) this.#ahead.set(id, (count ?? 0) + 1)
      this.#onRing(id)
    }
  }

  /** A dead URL proves nothing by itself: only where the probe can be read does one mean a cancel. */
  #works(read: ReadUrl): boolean {
    if (this.#probe === undefined) return false
    this.#probeAlive ??= read(this.#probe)
    return this.#probeAlive
  }
}

function isBlobUrl(url: string): boolean {
  return url.startsWith("blob:") && url.length <= maxUrlLength
}
