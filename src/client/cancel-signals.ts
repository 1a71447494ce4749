import { CancelRingWriter, createCancelRing } from "../link/cancel-ring.ts"
import type { Link } from "../link/link.ts"

/**
 * Tells a worker that is busy inside a statement of a cancel, beside the Cancel frame
 * that it can't read then (proto/README.md, cancel).
 */
export interface CancelSignals {
  /** Called once, before the Hello. */
  announce(): void
  /** Called before the frame of a request that may be cancelled. */
  arm(requestId: number): void
  fire(requestId: number): void
  /** The request has ended. */
  release(requestId: number): void
  /** The socket has ended. */
  end(): void
}

export function cancelSignals(link: Link): CancelSignals {
  if (link.signals === "sab") return ringSignals(link)
  if (link.signals === "blob" && typeof URL.createObjectURL === "function") return new BlobSignals(link)
  return silent
}

const nothing = () => {}
const silent: CancelSignals = { announce: nothing, arm: nothing, fire: nothing, release: nothing, end: nothing }

function ringSignals(link: Link): CancelSignals {
  const sab = createCancelRing()
  const ring = new CancelRingWriter(sab)
  return { ...silent, announce: () => link.signal({ sab }), fire: (requestId) => ring.push(requestId) }
}

/** One `blob:` URL a live request; revoking it is the signal, an unrevoked one is used again. */
class BlobSignals implements CancelSignals {
  readonly #link: Link
  readonly #armed = new Map<number, string>()
  #pool: string[] = []
  #probe = ""

  constructor(link: Link) {
    this.#link = link
  }

  announce(): void {
    this.#probe = freshUrl()
    this.#link.signal({ probe: this.#probe })
  }

  arm(requestId: number): void {
    const url = this.#pool.pop() ?? freshUrl()
    this.#armed.set(requestId, url)
    this.#link.signal({ requestId, url })
  }

  fire(requestId: number): void {
    const url = this.#armed.get(requestId)
    if (url === undefined) return
    this.#armed.delete(requestId)
    URL.revokeObjectURL(url)
  }

  release(requestId: number): void {
    const url = this.#armed.get(requestId)
    if (url === undefined) return
    this.#armed.delete(requestId)
    this.#pool.push(url)
  }

  end(): void {
    for (const url of [this.#probe, ...this.#pool, ...this.#armed.values()]) URL.revokeObjectURL(url)
    this.#pool = []
    this.#armed.clear()
  }
}

// Not empty: an empty blob's URL does not always answer a read.
const freshUrl = () => URL.createObjectURL(new Blob(["live"]))
