import { type Remote, transfer, wrap } from "comlink"
import { CloseCode } from "../../link/link.ts"
import { AgentDBError } from "../../wire/errors.ts"
import { randomId } from "../../wire/random-id.ts"
import type { Joined, PeerControl } from "../control.ts"
import { Life, type LifeOptions, stopped } from "../life.ts"
import { holdLock, peerLock, termLock, whenReleased } from "../locks.ts"
import { BroadcastPort } from "./broadcast-port.ts"
import { canBroker, joinByBroker } from "./broker-client.ts"
import type { PeerEndpoint } from "./desk.ts"
import { LeaderWatch } from "./leader-watch.ts"
import type { Board, Term } from "./notices.ts"

/** The page that leads may be busy; its worker is reached without it then. */
const brokerPatienceMs = 1_000
const joinPatienceMs = 3_500

/** The worker of another tab. */
export class RemoteLife extends Life {
  readonly role = "follower"
  override readonly ready: Promise<Joined>
  override readonly term: Term
  protected readonly signals = "blob"
  readonly #locks: LockManager
  readonly #board: Board
  readonly #lock = peerLock(randomId())
  #endpoint: PeerEndpoint | undefined
  #control: Remote<PeerControl> | undefined
  #watch: LeaderWatch | undefined
  #letLock = () => {}

  constructor(options: LifeOptions, term: Term, locks: LockManager, board: Board) {
    super()
    this.term = term
    this.#locks = locks
    this.#board = board
    this.ready = this.#join(options)
    this.ready.catch(() => {})
  }

  /** The page that leads has answered. */
  hearPage(): void {
    this.#watch?.hear()
  }

  /** The worker died while its page lives, and may have died of a statement: that one is not asked again. */
  hearDeath(): void {
    this.end(died(), CloseCode.internal)
  }

  /** Another worker has the files. */
  handOver(): void {
    this.onlost = undefined
    this.end(handedOver(), CloseCode.goingAway)
  }

  async stop(): Promise<void> {
    this.onlost = undefined
    this.end(stopped(), CloseCode.goingAway)
  }

  protected get control(): Remote<PeerControl> {
    // Calls are raced against the end, so there is one.
    if (!this.#control) throw new AgentDBError("unavailable", "the service of the other tab is not joined yet")
    return this.#control
  }

  protected override release(): void {
    this.#watch?.stop()
    // The worker lets go of what this page has there, and of the endpoint, once the lock is free.
    this.#letLock()
    const endpoint = this.#endpoint
    // What is said as it ends, such as the close notices of its links, still goes out.
    setTimeout(() => endpoint?.close(), 0)
  }

  async #join(options: LifeOptions): Promise<Joined> {
    const late = setTimeout(() => this.end(noAnswer(), CloseCode.goingAway), joinPatienceMs)
    try {
      this.#letLock = await holdLock(this.#locks, this.#lock)
      if (this.gone) this.#letLock()
      const { id } = this.term
      whenReleased(this.#locks, termLock(id), () => this.end(left(), lostCode), this.over.signal)
      return await this.#greet(options)
    } catch (error) {
      this.end(AgentDBError.from(error), CloseCode.goingAway)
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  async #greet(options: LifeOptions): Promise<Joined> {
    const { broker } = this.term
    if (broker !== undefined && canBroker(broker) && !options.broadcastOnly) {
      const { port1, port2 } = new MessageChannel()
      const leave = joinByBroker(broker, this.term.id, this.#lock, port2)
      try {
        const joined = await this.#joinOver(port1, options, brokerPatienceMs)
        if (joined) return joined
      } finally {
        leave()
      }
      port1.close()
    }
    const channel = randomId()
    const port = BroadcastPort.offer(channel)
    this.#board.post({ type: "join", term: this.term.id, channel, lock: this.#lock })
    const joined = await this.#joinOver(port, options)
    if (!joined) throw noAnswer()
    return joined
  }

  /** Undefined if nobody answers in time. */
  async #joinOver(endpoint: PeerEndpoint, options: LifeOptions, ms?: number): Promise<Joined | undefined> {
    const { storage, keys, limits } = options
    const control = wrap<PeerControl>(endpoint)
    const { port1, port2 } = new MessageChannel()
    let timer: ReturnType<typeof setTimeout> | undefined
    const answer = this.race(() => control.join({ storage, keys, limits }, transfer(port2, [port2])))
    const patience = new Promise<undefined>((resolve) => {
      if (ms !== undefined) timer = setTimeout(() => resolve(undefined), ms)
    })
    const joined = await Promise.race([answer, patience]).finally(() => clearTimeout(timer))
    if (!joined) {
      answer.catch(() => {})
      return undefined
    }
    this.#endpoint = endpoint
    this.#control = control
    const askPage = () => this.#board.post({ type: "alive?", term: this.term.id })
    this.#watch = new LeaderWatch(port1, askPage, () => this.end(frozen(), CloseCode.internal))
    if (this.gone) this.#watch.stop()
    return joined
  }
}

/** As of a socket that ended without a word. */
const lostCode = 1006

const noAnswer = () => new AgentDBError("unavailable", "the tab that has the files does not answer")
const handedOver = () => new AgentDBError("disconnected", "the service was handed over to another tab")
const frozen = () =>
  new AgentDBError(
    "disconnected",
    "the tab that has the files does not answer; it may be frozen. The outcome is unknown",
  )
const left = () => new AgentDBError("disconnected", "the tab that had the files is gone; the next one takes over")
const died = () => new AgentDBError("disconnected", "the worker of another tab died; it is started again")
