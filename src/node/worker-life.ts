import { randomUUID } from "node:crypto"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MessageChannel, type TransferListItem, Worker } from "node:worker_threads"
import { CloseCode } from "../link/link.ts"
import { watchOver } from "../link/watchdog.ts"
import type { TwirpRequest, TwirpResponse } from "../server/twirp.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Keys } from "../wire/jwt.ts"
import type { Limits } from "../wire/limits.ts"
import type { FromWorker, ToWorker, WorkerData } from "./messages.ts"
import { TunnelLink } from "./tunnel-link.ts"

export interface LifeOptions {
  readonly workerUrl: URL
  readonly keys: Keys
  readonly limits: Limits
  /** Told of each dump before the call that asked for it is answered. */
  readonly ondump: (path: string, file: string, expiresAt: number) => void
}

/** A clean close that takes longer is cut short; what it holds is in memory and ends anyway. */
const stopPatienceMs = 1_500

/** One worker from its start to its death, by whatever cause: then its sockets close and its calls reject. */
export class WorkerLife {
  readonly startedAt = performance.now()
  /** Rejects with the reason if the worker cannot serve; it has ended by then. */
  readonly ready: Promise<void>
  /** Called once when the worker is gone, unless `stop` ended it. */
  onlost: ((error: AgentDBError) => void) | undefined
  readonly #worker: Worker
  readonly #limits: Limits
  readonly #dumpFolder = join(tmpdir(), `agentdb-web-${randomUUID()}`)
  readonly #ondump: LifeOptions["ondump"]
  readonly #calls = new Map<number, { resolve(response: TwirpResponse): void; reject(error: AgentDBError): void }>()
  #onStarted = () => {}
  #onFailed = (_error: AgentDBError) => {}
  readonly #links = new Set<TunnelLink>()
  readonly #stopWatching: () => void
  #onStopped = () => {}
  #nextCall = 1
  #gone: AgentDBError | undefined
  #exited: Promise<unknown> | undefined

  constructor({ workerUrl, keys, limits, ondump }: LifeOptions) {
    this.#limits = limits
    this.#ondump = ondump
    const { port1, port2: heartbeat } = new MessageChannel()
    this.#worker = new Worker(workerUrl, {
      workerData: { keys, limits, heartbeat, dumpFolder: this.#dumpFolder } satisfies WorkerData,
      transferList: [heartbeat],
      // Flags of the process, such as a test runner's loaders, are not the worker's.
      execArgv: [],
    })
    this.#worker.on("message", (message: FromWorker) => this.#receive(message))
    this.#worker.on("error", (error) => this.end(died(error instanceof Error ? error.message : String(error))))
    this.#worker.on("exit", (code) => this.end(died(`it exited with ${code}`)))
    const silent = () => this.end(died("it said nothing for longer than any statement may run"))
    // Node's MessagePort does what this uses of the browser's.
    this.#stopWatching = watchOver(port1 as unknown as globalThis.MessagePort, limits.statementMs, {
      silent,
      dead: silent,
    })
    this.ready = new Promise((resolve, reject) => {
      this.#onStarted = resolve
      this.#onFailed = reject
    })
    this.ready.catch(() => {})
  }

  /**
   * A fresh socket on the service.
   * @param takes "by hand" for a caller who lets go of each frame by `take`.
   */
  openSocket(takes: "at once" | "by hand"): TunnelLink {
    const { port1, port2 } = new MessageChannel()
    // A Cancel must come through while the queue is full of what will be refused.
    const high = this.#limits.queueBytes + 2 * this.#limits.maxFrameBytes
    const link = new TunnelLink(port1, { high, low: high / 2 }, takes)
    this.#post({ kind: "socket", port: port2 }, [port2])
    for (const other of this.#links) if (other.ended) this.#links.delete(other)
    this.#links.add(link)
    return link
  }

  /** Rejects with `disconnected` if the worker dies before it answers. */
  twirp(request: TwirpRequest, origin: string): Promise<TwirpResponse> {
    if (this.#gone) return Promise.reject(this.#gone)
    const call = this.#nextCall++
    return new Promise((resolve, reject) => {
      this.#calls.set(call, { resolve, reject })
      this.#post({ kind: "twirp", call, request, origin })
    })
  }

  /** Closes its sockets with 1001 and its databases, then ends it. Resolves when its thread is gone. */
  async stop(): Promise<void> {
    this.onlost = undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    await new Promise<void>((resolve) => {
      this.#onStopped = resolve
      timer = setTimeout(resolve, stopPatienceMs)
      if (this.#gone) resolve()
      else this.#post({ kind: "stop" })
    })
    clearTimeout(timer)
    this.end(new AgentDBError("closed", "the service is closing"), CloseCode.goingAway)
    await this.#exited
  }

  /** Ends the worker at once. */
  end(error: AgentDBError, closeCode: number = CloseCode.internal): void {
    if (this.#gone) return
    this.#gone = error
    this.#stopWatching()
    // Then nobody writes there any more: what is left is of dumps that were cut.
    this.#exited = this.#worker
      .terminate()
      .then(() => rm(this.#dumpFolder, { recursive: true, force: true }).catch(() => {}))
    this.#onFailed(error)
    for (const { reject } of this.#calls.values()) reject(error)
    this.#calls.clear()
    for (const link of this.#links) link.lost(closeCode, error.message)
    this.#onStopped()
    this.onlost?.(error)
  }

  #post(message: ToWorker, transfer: TransferListItem[] = []): void {
    this.#worker.postMessage(message, transfer)
  }

  #takeDump({ call, path, file, expiresAt }: FromWorker & { kind: "dump" }): void {
    try {
      this.#ondump(path, file, expiresAt)
    } catch (cause) {
      const why = AgentDBError.from(cause).message
      this.#calls.get(call)?.reject(new AgentDBError("internal", `the dump cannot be read: ${why}`, { cause }))
      this.#calls.delete(call)
    }
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case "started":
        this.#onStarted()
        break
      case "dump":
        this.#takeDump(message)
        break
      case "answer":
        this.#calls.get(message.call)?.resolve(message.response)
        this.#calls.delete(message.call)
        break
      case "stopped":
        this.#onStopped()
    }
  }
}

const died = (why: string) => new AgentDBError("disconnected", `the worker of the service died: ${why}`)
