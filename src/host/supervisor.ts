import type { Status } from "../client/index.ts"
import { CloseCode } from "../link/link.ts"
import { AgentDBError } from "../wire/errors.ts"
import { developmentKeys, type Keys } from "../wire/jwt.ts"
import type { Joined, Started } from "./control.ts"
import type { Life, LifeOptions } from "./life.ts"
import { randomId, usableLocks } from "./locks.ts"
import { onAway } from "./page-life.ts"
import { followStorage, readEstimate, StatusBoard, statusOf } from "./status.ts"
import { Arrival } from "./tabs/arrival.ts"
import { Election } from "./tabs/election.ts"
import type { Notice, Term } from "./tabs/notices.ts"
import { RemoteLife } from "./tabs/remote-life.ts"
import { WorkerLife } from "./worker-life.ts"

/** Between two starts that nobody asked for, so that a worker which dies at once doesn't spin. */
const restartMs = 5_000

type State =
  /** No service; the next one who needs it looks for it. */
  | { readonly kind: "idle" }
  /** Waits for the name, or for word of who has it. */
  | { readonly kind: "seeking" }
  | { readonly kind: "starting"; readonly life: Life }
  | { readonly kind: "serving"; readonly life: Life }
  /** The page is frozen, put away or leaving. */
  | { readonly kind: "away" }
  | { readonly kind: "closed" }

/**
 * Keeps a page on the one service of a name: by its own worker if it has the name, else by that of the tab
 * which has it. When that is gone the next one comes, and sockets connect again by themselves.
 */
export class Supervisor {
  readonly options: LifeOptions
  readonly #board = new StatusBoard()
  readonly #onlife = new Set<(life: Life) => void>()
  readonly #arrival = new Arrival<Life>(() => this.#unavailable())
  readonly #offAway: () => void
  readonly #unfollow: () => void
  #state: State = { kind: "idle" }
  #locks: LockManager | undefined
  #election: Election | undefined
  #isElected = false
  #restart: ReturnType<typeof setTimeout> | undefined
  /** Of the service that this page had last. */
  #lastTerm: string | undefined
  #ownersKeys: Keys | undefined
  /** Whether this page had the service on OPFS: an empty one in memory must not take its place. */
  #isOnOpfs = false

  constructor(options: LifeOptions) {
    this.options = options
    this.#unfollow = followStorage(options.name, ({ problem }) => {
      if (problem !== undefined) this.#explain(problem)
      void this.refreshEstimate()
    })
    this.#offAway = onAway({ away: () => this.#away(), back: () => this.#back() })
  }

  get status(): Status {
    return this.#board.status
  }

  onStatus(listener: (status: Status) => void): () => void {
    return this.#board.listen(listener)
  }

  /** The keys of the service; an owner's win over what this page was opened with. */
  get keys(): Keys {
    return this.options.keys ?? this.#ownersKeys ?? developmentKeys
  }

  /** Calls `listener` with the worker that serves now, at once, and with each one after it before anyone else has it. */
  eachLife(listener: (life: Life) => void): () => void {
    this.#onlife.add(listener)
    if (this.serving) listener(this.serving)
    return () => this.#onlife.delete(listener)
  }

  /** The worker that serves, if one does. */
  get serving(): Life | undefined {
    return this.#state.kind === "serving" ? this.#state.life : undefined
  }

  /**
   * The worker that serves, found or started if need be.
   * @throws AgentDBError `unavailable` if for almost 5 s there is no sign of one.
   */
  async life(): Promise<Life> {
    if (this.#state.kind === "closed") throw closed()
    if (this.#state.kind === "serving") return this.#state.life
    const arrival = this.#arrival.wait()
    if (this.#state.kind === "idle") this.#begin().catch((error: unknown) => this.#fail(error))
    return arrival
  }

  /** Asks the browser what it keeps for this origin. */
  async refreshEstimate(): Promise<void> {
    if (this.status.storage === "memory") return
    const estimate = await readEstimate()
    this.#board.set({ ...this.status, ...estimate })
  }

  async close(): Promise<void> {
    const state = this.#state
    this.#state = { kind: "closed" }
    this.#offAway()
    this.#unfollow()
    clearTimeout(this.#restart)
    this.#arrival.fail(closed())
    if (state.kind === "starting" || state.kind === "serving") await state.life.stop()
    // Only now may another tab have the files.
    this.#leave()
  }

  async #begin(): Promise<void> {
    clearTimeout(this.#restart)
    this.#state = { kind: "seeking" }
    this.#locks = await usableLocks()
    if (this.#state.kind !== "seeking") return
    if (!this.#locks || this.#isElected) this.#lead()
    else this.#seek(this.#locks)
  }

  #seek(locks: LockManager): void {
    this.#election ??= new Election(locks, this.options.name, this.options.generation, {
      elected: () => this.#elected(),
      leader: (term) => this.#heardOf(locks, term),
      sign: () => this.#arrival.sign(),
      asked: () => this.#asked(locks),
      told: ({ type, term }) => this.#told(type, term),
      outdated: () => this.#outdated(),
    })
    this.#election.seek()
  }

  /** The worker of this page. */
  get #own(): WorkerLife | undefined {
    const life = "life" in this.#state ? this.#state.life : undefined
    return life instanceof WorkerLife ? life : undefined
  }

  get #remote(): RemoteLife | undefined {
    const life = "life" in this.#state ? this.#state.life : undefined
    return life instanceof RemoteLife ? life : undefined
  }

  #elected(): void {
    this.#isElected = true
    this.#remote?.handOver()
    this.#lead()
  }

  #lead(): void {
    try {
      const life = new WorkerLife(
        { ...this.options, keys: this.keys, ...(this.#isOnOpfs && { storage: "opfs" }) },
        randomId(),
      )
      this.#start(life)
      if (this.#election) this.#election.promise()
      else this.#promise(life)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Alone there is nobody to wait for, however long it takes. */
  #promise(life: Life): void {
    const timer = setInterval(() => this.#arrival.sign(), 1_000)
    life.ready.catch(() => {}).finally(() => clearInterval(timer))
  }

  #heardOf(locks: LockManager, term: Term): void {
    const { kind } = this.#state
    if (kind === "seeking" && this.#isElected) return
    if (kind !== "seeking") {
      const remote = this.#remote
      if (!remote || remote.term.id === term.id) return
      // The one before had to be gone for this one to have the files.
      remote.handOver()
    }
    if (this.#election) this.#start(new RemoteLife(this.options, term, locks, this.#election.board))
  }

  #start(life: Life): void {
    this.#state = { kind: "starting", life }
    life.onlost = () => this.#lost(life)
    const estimate = readEstimate()
    life.ready
      .then(async (started) => this.#serve(life, started, await estimate))
      .catch((error: unknown) => {
        if (life.role === "leader") this.#fail(error)
      })
  }

  #serve(life: Life, started: Started | Joined, estimate: Awaited<ReturnType<typeof readEstimate>>): void {
    // Lost or closed meanwhile.
    if (this.#state.kind !== "starting" || this.#state.life !== life) return
    const isMemoryLost = this.#lastTerm !== undefined && this.#lastTerm !== life.term.id
    this.#lastTerm = life.term.id
    this.#ownersKeys = started.keys
    this.#isOnOpfs ||= started.storage === "opfs"
    this.#election?.settle()
    this.#state = { kind: "serving", life }
    this.#board.set(statusOf(started, life.role, estimate, isMemoryLost))
    if (this.#state.kind !== "serving") return
    for (const listener of this.#onlife) listener(life)
    this.#arrival.arrive(life)
  }

  #lost(life: Life): void {
    const { kind } = this.#state
    if (kind === "closed" || kind === "away") return
    if (life.role === "follower") {
      this.#state = { kind: "seeking" }
      this.#election?.seek()
      return
    }
    this.#state = { kind: "idle" }
    this.#election?.board.post({ type: "died", term: life.term.id })
    if (kind === "serving") this.#startLater(life.startedAt)
  }

  #startLater(since: number): void {
    clearTimeout(this.#restart)
    const lived = performance.now() - since
    this.#restart = setTimeout(() => this.life().catch(() => {}), Math.max(0, restartMs - lived))
  }

  /** This page can't have the service; another tab may. */
  #fail(error: unknown): void {
    if (this.#state.kind === "closed" || this.#state.kind === "away") return
    this.#state = { kind: "idle" }
    this.#leave()
    this.#arrival.fail(AgentDBError.from(error))
    // Handles that are open go on when it can be had.
    if (this.#lastTerm !== undefined) this.#startLater(performance.now())
  }

  #leave(): void {
    this.#isElected = false
    this.#election?.leave()
  }

  /** The worker answers for itself, but it may be inside a long statement. */
  #asked(locks: LockManager): void {
    const own = this.#own
    if (!own || this.#state.kind !== "serving") return
    own.broke(locks)
    this.#election?.board.post({ type: "starting" })
  }

  #told(type: Notice["type"], term: string): void {
    const own = this.#own
    const remote = this.#remote
    if (type === "alive?" && own?.term.id === term) this.#election?.board.post({ type: "alive", term })
    if (remote?.term.id !== term) return
    if (type === "alive") remote.hearPage()
    if (type === "died") remote.hearDeath()
  }

  #outdated(): void {
    const state = this.#state
    if (state.kind === "idle" || state.kind === "closed" || state.kind === "away") return
    const error = new AgentDBError(
      "failed_precondition",
      "another tab runs a newer version of this application; reload this page",
    )
    clearTimeout(this.#restart)
    this.#state = { kind: "idle" }
    this.#arrival.fail(error)
    this.#explain(error.message)
    // The name goes once the files are let go; who asks for the service before that queues behind the newer tab.
    const election = this.#election
    this.#election = undefined
    this.#isElected = false
    const stop = "life" in state ? state.life.stop() : Promise.resolve()
    void stop.catch(() => {}).finally(() => election?.leave())
  }

  /** A frozen page must neither keep the files nor be given the name. */
  #away(): void {
    const state = this.#state
    if (state.kind === "closed" || state.kind === "away") return
    clearTimeout(this.#restart)
    this.#state = { kind: "away" }
    if ("life" in state) state.life.end(putAway(), CloseCode.goingAway)
    this.#leave()
  }

  #back(): void {
    if (this.#state.kind !== "away") return
    this.#state = { kind: "idle" }
    this.life().catch(() => {})
  }

  #unavailable(): AgentDBError {
    const reason = this.#isElected ? stillHeld : noAnswer
    this.#explain(reason)
    return new AgentDBError("unavailable", reason)
  }

  #explain(reason: string): void {
    if (this.#lastTerm !== undefined) this.#board.set({ ...this.status, reason })
  }
}

const stillHeld = "another tab still holds the files of this service; it may be frozen"
const noAnswer = "the tab that has the files of this service does not answer; it may be frozen"
const closed = () => new AgentDBError("closed", "the service was closed")
const putAway = () => new AgentDBError("disconnected", "this page was frozen or left; the outcome is unknown")
