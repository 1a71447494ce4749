import type { Status } from "../client/index.ts"
import { CloseCode } from "../link/link.ts"
import { allErased } from "../storage/erased.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Keys } from "../wire/jwt.ts"
import { randomId } from "../wire/random-id.ts"
import type { Joined, Started } from "./control.ts"
import { LastService } from "./last-service.ts"
import type { Life, LifeOptions } from "./life.ts"
import { usableLocks } from "./locks.ts"
import { closed, noAnswer, outdated, putAway, stillHeld } from "./outages.ts"
import { onAway } from "./page-life.ts"
import { Restart } from "./restart.ts"
import { isOut, lifeOf, type Standing } from "./standing.ts"
import { followStorage, readEstimate, StatusBoard, statusOf } from "./status.ts"
import { Arrival } from "./tabs/arrival.ts"
import { Election } from "./tabs/election.ts"
import { answerSeeker, hearNeighbour } from "./tabs/neighbours.ts"
import type { Term } from "./tabs/notices.ts"
import { RemoteLife } from "./tabs/remote-life.ts"
import { WorkerLife } from "./worker-life.ts"

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
  #state: Standing = { kind: "idle" }
  /** Undefined where there are no Web Locks: there is no other tab then, as far as this page can know. */
  #election: Election | undefined
  readonly #restart = new Restart(() => this.life().catch(() => {}))
  readonly #last = new LastService()

  constructor(options: LifeOptions) {
    this.options = options
    this.#unfollow = followStorage(options.name, {
      grown: () => void this.refreshEstimate(),
      lost: (identity) => {
        if (identity === this.#last.identity) this.#lose(allErased())
      },
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
    return this.#last.keysFor(this.options)
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
   * @throws AgentDBError `unavailable` if for almost 5 s there is no sign of one, `data_loss` once its files are gone.
   */
  async life(): Promise<Life> {
    if (this.#state.kind === "closed") throw closed()
    if (this.#state.kind === "lost") throw this.#state.error
    if (this.#state.kind === "serving") return this.#state.life
    const arrival = this.#arrival.wait()
    if (this.#state.kind === "idle") this.#begin().catch((error: unknown) => this.#fail(error))
    return arrival
  }

  /** Asks the browser what it keeps for this origin. */
  refreshEstimate(): Promise<void> {
    return this.#board.refreshEstimate()
  }

  async close(): Promise<void> {
    const state = this.#state
    this.#state = { kind: "closed" }
    this.#offAway()
    this.#unfollow()
    this.#restart.cancel()
    this.#arrival.fail(closed())
    await lifeOf(state)?.stop()
    // Only now may another tab have the files.
    this.#election?.leave()
  }

  async #begin(): Promise<void> {
    this.#restart.cancel()
    this.#state = { kind: "seeking" }
    const locks = await usableLocks()
    if (this.#state.kind !== "seeking") return
    if (!locks || this.#election?.isWon) this.#lead()
    else this.#seek(locks)
  }

  #seek(locks: LockManager): void {
    const election = this.#election ?? this.#stand(locks)
    this.#election = election
    election.seek()
  }

  #stand(locks: LockManager): Election {
    const election: Election = new Election(locks, this.options.name, this.options.generation, {
      elected: () => {
        this.#remote?.handOver()
        this.#lead()
      },
      leader: (term) => this.#heardOf(term, election),
      sign: () => this.#arrival.sign(),
      asked: () => answerSeeker(this.serving, election),
      told: (notice) => hearNeighbour(notice, lifeOf(this.#state), election.board),
      outdated: () => this.#outdated(),
    })
    return election
  }

  get #remote(): RemoteLife | undefined {
    const life = lifeOf(this.#state)
    return life instanceof RemoteLife ? life : undefined
  }

  #lead(): void {
    try {
      const life = new WorkerLife(this.#last.startOptions(this.options), randomId())
      this.#start(life)
      if (this.#election) this.#election.promise()
      else this.#arrival.signUntil(life.ready)
    } catch (error) {
      this.#fail(error)
    }
  }

  #heardOf(term: Term, { locks, board, isWon }: Election): void {
    const { kind } = this.#state
    if (kind === "seeking" && isWon) return
    if (kind !== "seeking") {
      const remote = this.#remote
      if (!remote || remote.term.id === term.id) return
      // The one before had to be gone for this one to have the files.
      remote.handOver()
    }
    this.#start(new RemoteLife(this.options, term, locks, board))
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
    const problem = this.#last.problemOf(started)
    if (problem) {
      this.#refuse(life, problem)
      return
    }
    const isMemoryLost = this.#last.note(life, started)
    this.#election?.settle()
    this.#state = { kind: "serving", life }
    this.#board.set(statusOf(started, life.role, estimate, isMemoryLost))
    if (this.#state.kind !== "serving") return
    for (const listener of this.#onlife) listener(life)
    this.#arrival.arrive(life)
  }

  #lost(life: Life): void {
    const { kind } = this.#state
    if (!("life" in this.#state)) return
    if (life.role === "follower") {
      this.#state = { kind: "seeking" }
      this.#election?.seek()
      return
    }
    this.#state = { kind: "idle" }
    this.#election?.board.post({ type: "died", term: life.term.id })
    if (kind === "serving") this.#restart.plan(life.startedAt)
  }

  /** This page can't have the service; another tab may. */
  #fail(cause: unknown): void {
    if (isOut(this.#state)) return
    const error = AgentDBError.from(cause)
    if (error.code === "data_loss" && this.#last.isKnown) {
      this.#lose(error)
      return
    }
    this.#state = { kind: "idle" }
    this.#election?.leave()
    this.#arrival.fail(error)
    // Handles that are open go on when it can be had.
    if (this.#last.isKnown) this.#restart.plan(performance.now())
  }

  /** A service that may not take the place of the one before. */
  #refuse(life: Life, error: AgentDBError): void {
    this.#state = { kind: "idle" }
    life.end(error, CloseCode.goingAway)
    this.#board.explain(error.message)
    this.#fail(error)
  }

  /** Another tab may have the name, and begin an empty service. */
  #lose(error: AgentDBError): void {
    const state = this.#state
    if (state.kind === "closed" || state.kind === "lost") return
    this.#restart.cancel()
    this.#state = { kind: "lost", error }
    // A clean close would not come back from the erased files. Reads that are in flight are told why by asking again.
    lifeOf(state)?.end(error, CloseCode.goingAway)
    this.#board.explain(error.message, "data_loss")
    this.#arrival.fail(error)
    this.#election?.leave()
  }

  #outdated(): void {
    const state = this.#state
    if (state.kind === "idle" || isOut(this.#state)) return
    const error = outdated()
    this.#restart.cancel()
    this.#state = { kind: "idle" }
    this.#arrival.fail(error)
    this.#explain(error.message)
    // The name goes once the files are let go; who asks for the service before that queues behind the newer tab.
    const election = this.#election
    this.#election = undefined
    const stopping = Promise.resolve(lifeOf(state)?.stop())
    void stopping.catch(() => {}).finally(() => election?.leave())
  }

  /** A frozen page must neither keep the files nor be given the name. */
  #away(): void {
    const state = this.#state
    if (isOut(this.#state)) return
    this.#restart.cancel()
    this.#state = { kind: "away" }
    lifeOf(state)?.end(putAway(), CloseCode.goingAway)
    this.#election?.leave()
  }

  #back(): void {
    if (this.#state.kind !== "away") return
    this.#state = { kind: "idle" }
    this.life().catch(() => {})
  }

  #unavailable(): AgentDBError {
    const error = this.#election?.isWon ? stillHeld() : noAnswer()
    this.#explain(error.message)
    return error
  }

  #explain(reason: string): void {
    if (this.#last.isKnown) this.#board.explain(reason)
  }
}
