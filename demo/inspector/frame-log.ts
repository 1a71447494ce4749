import type { FrameEntry } from "./frame-entry.ts"
import { SocketTap } from "./socket-tap.ts"

/** Entries kept; older ones are only counted. */
const kept = 500

/** The frames of all sockets of this page, in the order in which they passed. */
export class FrameLog {
  readonly #entries: FrameEntry[] = []
  readonly #taps = new Set<SocketTap>()
  readonly #sockets = new Map<string, number>()
  readonly #start = performance.now()
  #total = 0
  onchange: (() => void) | undefined

  get entries(): readonly FrameEntry[] {
    return this.#entries
  }
  /** Frames seen, kept or not. */
  get total(): number {
    return this.#total
  }
  /** The sockets that are open. */
  get taps(): ReadonlySet<SocketTap> {
    return this.#taps
  }

  /** A tap for a new socket of `owner`. */
  tap(owner: string): SocketTap {
    const number = (this.#sockets.get(owner) ?? 0) + 1
    this.#sockets.set(owner, number)
    const tap: SocketTap = new SocketTap(`${owner} ${number}`, (entry) => {
      if (entry.kind === "close") this.#taps.delete(tap)
      this.#add(entry)
    })
    this.#taps.add(tap)
    return tap
  }

  clear(): void {
    this.#entries.length = 0
    this.#total = 0
    this.onchange?.()
  }

  #add(entry: Omit<FrameEntry, "number" | "at">): void {
    this.#entries.push({ number: ++this.#total, at: performance.now() - this.#start, ...entry })
    if (this.#entries.length > kept) this.#entries.splice(0, this.#entries.length - kept)
    this.onchange?.()
  }
}
