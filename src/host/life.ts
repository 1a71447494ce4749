import { type Remote, transfer } from "comlink"
import { CloseCode, type Link } from "../link/link.ts"
import { PortLink } from "../link/port-link.ts"
import { AgentDBError } from "../wire/errors.ts"
import {
  type JoinOptions,
  type Outcome,
  type ServiceCalls,
  type Started,
  type StartOptions,
  unwrap,
} from "./control.ts"
import type { Term } from "./tabs/notices.ts"

/** How to reach a service; the rest of a worker's start options is found out by its page. */
export interface LifeOptions
  extends Omit<StartOptions, "opfsProblem" | "term" | "keys" | "identity">,
    Pick<JoinOptions, "keys"> {
  readonly workerUrl: string | undefined
  /** For tests: does without the shared worker. */
  readonly broadcastOnly: boolean
}

/**
 * One worker as a page sees it, its own or another tab's, from its start to its death, by whatever
 * cause. Then every link made here ends and every call in flight rejects with `disconnected`.
 */
export abstract class Life {
  readonly startedAt = performance.now()
  abstract readonly role: "leader" | "follower"
  /** Rejects with the reason if the worker can't serve; the life is over by then. */
  abstract readonly ready: Promise<Started>
  /** Called once when the worker is gone, unless `stop` ended it. */
  onlost: (() => void) | undefined
  protected readonly over = new AbortController()
  readonly #calls = new Set<(error: AgentDBError) => void>()
  readonly #links = new Set<PortLink>()
  #gone: AgentDBError | undefined

  /** Names the worker. */
  abstract readonly term: Term
  protected abstract readonly control: Remote<ServiceCalls>
  /** What the links made here can signal a cancel with. */
  protected abstract readonly signals: Link["signals"]
  /** Lets the worker go; nothing is said to it any more. */
  protected abstract release(code: number): void
  /** Ends it in good order. */
  abstract stop(): Promise<void>

  /** Why there is no worker any more. */
  get gone(): AgentDBError | undefined {
    return this.#gone
  }

  /** Makes a call, which rejects with `disconnected` if the worker dies before it answers. */
  call<T>(send: (control: Remote<ServiceCalls>) => Promise<Outcome<T>>): Promise<T> {
    return this.race(() => send(this.control))
  }

  /** A fresh socket on the service. */
  openLink(owner: string): PortLink {
    const { port1, port2 } = new MessageChannel()
    const link = new PortLink(port1, this.signals)
    for (const other of this.#links) if (other.ended) this.#links.delete(other)
    this.#links.add(link)
    this.accept(owner, port2).catch((error: unknown) => link.lost(CloseCode.internal, AgentDBError.from(error).message))
    return link
  }

  /** Has the worker serve a socket on `port`, which moves there. */
  accept(owner: string, port: MessagePort): Promise<void> {
    return this.call((control) => control.accept(owner, transfer(port, [port])))
  }

  /** Ends it at once; links close with `code`. */
  end(error: AgentDBError, code: number): void {
    if (this.#gone) return
    this.#gone = error
    this.over.abort()
    this.release(code)
    // Before anyone who hears of it can ask for a worker again.
    this.onlost?.()
    for (const reject of this.#calls) reject(error)
    for (const link of this.#links) link.lost(code, error.message)
  }

  protected race<T>(send: () => Promise<Outcome<T>>): Promise<T> {
    if (this.#gone) return Promise.reject(this.#gone)
    return new Promise<T>((resolve, reject) => {
      this.#calls.add(reject)
      send()
        .then((outcome) => resolve(unwrap(outcome)))
        .catch(reject)
        .finally(() => this.#calls.delete(reject))
    })
  }
}

export const stopped = () => new AgentDBError("closed", "the service was closed")
