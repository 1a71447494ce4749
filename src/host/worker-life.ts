import { type Remote, transfer, wrap } from "comlink"
import { CloseCode } from "../link/link.ts"
import { watchOver } from "../link/watchdog.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Keys } from "../wire/jwt.ts"
import type { Control, Started, StartOptions } from "./control.ts"
import { Life, type LifeOptions, stopped } from "./life.ts"
import { holdLock, termLock, usableLocks, whenReleased, workerLock } from "./locks.ts"
import { pageOpfsProblem } from "./page-storage.ts"
import { loadFailure, spawnWorker } from "./spawn.ts"
import { canBroker, leadByBroker } from "./tabs/broker-client.ts"
import type { Term } from "./tabs/notices.ts"

/** A clean close that takes longer is cut short: what was acknowledged is on disk already. */
const stopPatienceMs = 1_500

const termGraceMs = 1_000

/** What a page starts its own worker with. */
export interface OwnOptions extends LifeOptions, Pick<StartOptions, "identity"> {
  readonly keys: Keys
}

/** A worker of this page: it is terminated when its life ends. */
export class WorkerLife extends Life {
  readonly role = "leader"
  override readonly ready: Promise<Started>
  override readonly term: Term
  protected readonly control: Remote<Control>
  protected readonly signals = crossOriginIsolated ? "sab" : "blob"
  readonly #worker: Worker
  #letTerm = () => {}
  #isBroking = false

  /** @throws AgentDBError `failed_precondition` if there can be no worker. */
  constructor(options: OwnOptions, id: string) {
    super()
    const { worker, url } = spawnWorker(options.workerUrl)
    const address = new URL(url, globalThis.location?.href).href
    this.term = { id, broker: !options.broadcastOnly && canBroker(address) ? address : undefined }
    this.#worker = worker
    this.control = wrap<Control>(worker)
    this.ready = this.#start(options, url)
    this.ready.catch(() => {})
  }

  /** Takes in other tabs by the broker. It's not started before there is another tab. */
  broke(locks: LockManager): void {
    const { id, broker } = this.term
    if (this.#isBroking || broker === undefined || this.gone) return
    this.#isBroking = true
    const stop = leadByBroker(locks, { url: broker, term: id, lock: termLock(id) }, (port, lock) => {
      this.race(() => this.control.admit(transfer(port, [port]), lock)).catch(() => {})
    })
    this.over.signal.addEventListener("abort", stop)
  }

  /** Closes every database cleanly, then ends the worker. */
  async stop(): Promise<void> {
    this.onlost = undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, stopPatienceMs)
    })
    try {
      await Promise.race([this.race(() => this.control.close()), patience])
    } finally {
      clearTimeout(timer)
      this.end(stopped(), CloseCode.goingAway)
    }
  }

  protected override release(code: number): void {
    this.#worker.terminate()
    // Other tabs are told that it died, and by this lock that it left: the former must come first.
    if (code === CloseCode.internal) setTimeout(this.#letTerm, termGraceMs)
    else this.#letTerm()
  }

  async #start(options: OwnOptions, url: string): Promise<Started> {
    const { storage, identity, limits } = options
    const { workerUrl: _, broadcastOnly: __, ...rest } = options
    const { term } = this
    const { port1, port2 } = new MessageChannel()
    const stopWatching = watchOver(port1, limits.statementMs, {
      silent: () => this.end(silent(url), CloseCode.internal),
      dead: () => this.end(lost(), CloseCode.internal),
    })
    this.over.signal.addEventListener("abort", stopWatching)
    const loading = new AbortController()
    const failed = (event: Event) => this.end(loadFailure(url, event), CloseCode.internal)
    this.#worker.addEventListener("error", failed, { signal: loading.signal })
    try {
      const opfsProblem = storage === "memory" && identity === undefined ? undefined : await pageOpfsProblem()
      const locks = await usableLocks()
      if (locks) this.#letTerm = await holdLock(locks, termLock(term.id))
      if (this.gone) this.#letTerm()
      const started = await this.race(() =>
        this.control.start({ ...rest, opfsProblem, term }, transfer(port2, [port2])),
      )
      if (locks) whenReleased(locks, workerLock(term.id), () => this.end(lost(), CloseCode.internal), this.over.signal)
      return started
    } catch (error) {
      this.end(AgentDBError.from(error), CloseCode.internal)
      throw error
    } finally {
      loading.abort()
    }
  }
}

const silent = (url: string) =>
  new AgentDBError("failed_precondition", `the worker ${url} never answered; is it the worker of this package?`)
const lost = () => new AgentDBError("disconnected", "the worker of the service died; it is started again")
