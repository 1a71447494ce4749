import { leaderLock, ownerLock, whenReleased } from "../locks.ts"
import { Board, type Notice, type Term } from "./notices.ts"

/** How often a page that found nobody asks again, and one that starts says so. */
const repeatMs = 500

export interface ElectionEvents {
  /** This page has the name until it resigns. */
  elected(): void
  /** A worker serves. */
  leader(term: Term): void
  /** Somebody gets a worker up. */
  sign(): void
  /** Another tab looks for the service. */
  asked(): void
  /** Something about the worker of a run, or for its page. */
  told(notice: Notice & { term: string }): void
  /** A tab of a newer deployment is there: it gets the name. */
  outdated(): void
}

/**
 * A page among those of one name: it waits for the lock of the name, and hears who has it. It takes no
 * part before `enter` and after `leave`.
 */
export class Election {
  readonly locks: LockManager
  readonly #name: string
  readonly #generation: number
  readonly #on: ElectionEvents
  #board: Board | undefined
  #queue: AbortController | undefined
  #resign: (() => void) | undefined
  #repeat: ReturnType<typeof setInterval> | undefined

  constructor(locks: LockManager, name: string, generation: number, on: ElectionEvents) {
    this.locks = locks
    this.#name = name
    this.#generation = generation
    this.#on = on
  }

  /** Whether this page has the name. */
  get isWon(): boolean {
    return this.#resign !== undefined
  }

  get board(): Board {
    this.#board ??= new Board(this.#name, this.#generation, (notice, generation) => this.#hear(notice, generation))
    return this.#board
  }

  /** Stands for the name, and asks who has it until `settle`. */
  seek(): void {
    this.#stand()
    this.#every({ type: "who" })
  }

  /** Says that a worker is coming, once the one before is gone, until `settle`. */
  promise(): void {
    clearInterval(this.#repeat)
    this.#repeat = undefined
    const say = () => {
      if (this.#resign) this.#every({ type: "starting" }, () => this.#on.sign())
    }
    whenReleased(this.locks, ownerLock(this.#name), say, this.#queue?.signal)
  }

  settle(): void {
    clearInterval(this.#repeat)
    this.#repeat = undefined
  }

  /** Gives the name back, and the place in the queue for it. */
  leave(): void {
    this.settle()
    this.#queue?.abort()
    this.#queue = undefined
    this.#resign?.()
    this.#resign = undefined
    this.#board?.close()
    this.#board = undefined
  }

  #stand(): void {
    if (this.#queue) return
    const queue = new AbortController()
    this.#queue = queue
    const elected = () =>
      new Promise<void>((resign) => {
        if (queue.signal.aborted) {
          resign()
          return
        }
        this.#resign = resign
        this.#on.elected()
      })
    // Fails with the wait taken back and with this realm's own end.
    this.locks.request(leaderLock(this.#name), { signal: queue.signal }, elected).catch(() => {})
  }

  #every(notice: Notice, also = () => {}): void {
    const say = () => {
      this.board.post(notice)
      also()
    }
    clearInterval(this.#repeat)
    this.#repeat = setInterval(say, repeatMs)
    say()
  }

  #hear(notice: Notice, generation: number): void {
    if (generation > this.#generation) {
      this.#on.outdated()
      return
    }
    // An older tab has been asked by this page's own notices to give way.
    if (generation < this.#generation) return
    if (notice.type === "leader") this.#on.leader(notice.term)
    else if (notice.type === "starting") this.#on.sign()
    else if (notice.type === "who") this.#on.asked()
    else if (notice.type !== "join") this.#on.told(notice)
  }
}
