import { type Remote, transfer, wrap } from "comlink"
import { CloseCode } from "../link/link.ts"
import { PortLink } from "../link/port-link.ts"
import { watchOver } from "../link/watchdog.ts"
import { AgentDBError } from "../wire/errors.ts"
import { type Control, type Outcome, type Started, type StartOptions, unwrap } from "./control.ts"
import { randomId, usableLocks, whenReleased, workerLock } from "./locks.ts"
import { pageOpfsProblem } from "./page-storage.ts"
import { loadFailure, spawnWorker } from "./spawn.ts"

/** How to start a worker; the rest of its start options is found out here. */
export interface LifeOptions extends Omit<StartOptions, "opfsProblem" | "workerLock"> {
  readonly workerUrl: string | undefined
}

/** A clean close that takes longer is cut short: what was acknowledged is on disk already. */
const stopPatienceMs = 1_500

/**
 * One worker from its start to its death, by whatever cause. Then every link
 * made here ends with 1011 and every call in flight rejects with `disconnected`.
 */
export class WorkerLife {
  readonly startedAt = performance.now()
  /** Rejects with the reason if the worker can't serve; it is terminated by then. */
  readonly ready: Promise<Started>
  /** Called once when the worker is gone, unless `stop` ended it. */
  onlost: (() => void) | undefined
  readonly #worker: Worker
  readonly #control: Remote<Control>
  readonly #calls = new Set<(error: AgentDBError) => void>()
  readonly #links = new Set<PortLink>()
  readonly #over = new AbortController()
  #gone: AgentDBError | undefined

  /** @throws AgentDBError `failed_precondition` if there can be no worker. */
  constructor(options: LifeOptions) {
    const { worker, url } = spawnWorker(options.workerUrl)
    this.#worker = worker
    this.#control = wrap<Control>(worker)
    this.ready = this.#start(options, url)
    this.ready.catch(() => {})
  }

  /** Why there is no worker any more. */
  get gone(): AgentDBError | undefined {
    return this.#gone
  }

  /** Makes a call, which rejects with `disconnected` if the worker dies before it answers. */
  call<T>(send: (control: Remote<Control>) => Promise<Outcome<T>>): Promise<T> {
    if (this.#gone) return Promise.reject(this.#gone)
    return new Promise<T>((resolve, reject) => {
      this.#calls.add(reject)
      send(this.#control)
        .then((outcome) => resolve(unwrap(outcome)))
        .catch(reject)
        .finally(() => this.#calls.delete(reject))
    })
  }

  /** A fresh socket on the service. */
  openLink(owner: string): PortLink {
    const { port1, port2 } = new MessageChannel()
    const link = new PortLink(port1, crossOriginIsolated ? "sab" : "blob")
    for (const other of this.#links) if (other.ended) this.#links.delete(other)
    this.#links.add(link)
    this.accept(owner, port2).catch((error: unknown) => link.lost(CloseCode.internal, AgentDBError.from(error).message))
    return link
  }

  /** Has the worker serve a socket on `port`, which moves there. */
  accept(owner: string, port: MessagePort): Promise<void> {
    return this.call((control) => control.accept(owner, transfer(port, [port])))
  }

  /** Closes every database cleanly, then ends the worker. */
  async stop(): Promise<void> {
    this.onlost = undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, stopPatienceMs)
    })
    try {
      await Promise.race([this.call((control) => control.close()), patience])
    } finally {
      clearTimeout(timer)
      this.end(new AgentDBError("closed", "the service was closed"))
    }
  }

  /** Ends the worker at once. */
  end(error: AgentDBError): void {
    if (this.#gone) return
    this.#gone = error
    this.#over.abort()
    this.#worker.terminate()
    // Before anyone who hears of it can ask for a worker again.
    this.onlost?.()
    for (const reject of this.#calls) reject(error)
    for (const link of this.#links) link.lost(CloseCode.internal, error.message)
  }

  async #start(options: LifeOptions, url: string): Promise<Started> {
    const { name, storage, limits } = options
    const { workerUrl: _, ...rest } = options
    const lock = workerLock(name, randomId())
    const { port1, port2 } = new MessageChannel()
    const stopWatching = watchOver(port1, limits.statementMs, {
      silent: () => this.end(silent(url)),
      dead: () => this.end(lost()),
    })
    this.#over.signal.addEventListener("abort", stopWatching)
    const loading = new AbortController()
    this.#worker.addEventListener("error", (event) => this.end(loadFailure(url, event)), { signal: loading.signal })
    try {
      const opfsProblem = storage === "memory" ? undefined : await pageOpfsProblem()
      const start = { ...rest, opfsProblem, workerLock: lock }
      const started = await this.call((control) => control.start(start, transfer(port2, [port2])))
      const locks = await usableLocks()
      if (locks) whenReleased(locks, lock, () => this.end(lost()), this.#over.signal)
      return started
    } catch (error) {
      this.end(AgentDBError.from(error))
      throw error
    } finally {
      loading.abort()
    }
  }
}

const silent = (url: string) =>
  new AgentDBError("failed_precondition", `the worker ${url} never answered; is it the worker of this package?`)
const lost = () => new AgentDBError("disconnected", "the worker of the service died; it is started again")
