import { expose } from "comlink"
import { Heartbeat } from "../link/heartbeat.ts"
import type { Service } from "../server/service.ts"
import { AgentDBError } from "../wire/errors.ts"
import { type Control, type Outcome, outcome, type Started, type StartOptions } from "./control.ts"
import { usableLocks, whenReleased } from "./locks.ts"
import { Owners } from "./owners.ts"
import { PeerControlOf, type Peers } from "./peer-control.ts"
import { ServiceControl } from "./service-control.ts"
import { type RunningService, startService } from "./start-service.ts"
import { Desk, type PeerEndpoint } from "./tabs/desk.ts"

/** The one service of this worker. */
class Running implements Peers {
  readonly owners = new Owners()
  /** Of the page and of each peer. */
  readonly beats = new Set<Heartbeat>()
  running: RunningService | undefined
  options: StartOptions | undefined
  desk: Desk | undefined

  get service(): Service {
    return this.#started.service
  }

  get started(): Started {
    return this.#started.started
  }

  get #started(): RunningService {
    if (!this.running) throw new AgentDBError("unavailable", "the service has not started")
    return this.running
  }
}

/** The control plane inside the worker, over the one service that it runs. */
export class WorkerControl extends ServiceControl implements Control {
  readonly #core: Running

  constructor() {
    const core = new Running()
    super(core)
    this.#core = core
  }

  start(options: StartOptions, heartbeat: MessagePort): Promise<Outcome<Started>> {
    const core = this.#core
    return outcome(async () => {
      core.options = options
      core.beats.add(new Heartbeat(heartbeat, options.limits.statementMs))
      core.running = await startService(options, (allowMs) => {
        for (const beat of core.beats) beat.busy(allowMs)
      })
      const { name, generation, term } = options
      // Where there are no locks every page has a service of its own.
      if (await usableLocks()) core.desk = new Desk(name, generation, term, (port, lock) => this.#admit(port, lock))
      return core.running.started
    })
  }

  admit(port: MessagePort, lock: string): Promise<Outcome<void>> {
    return outcome(() => this.#admit(port, lock))
  }

  close(): Promise<Outcome<void>> {
    return outcome(async () => {
      this.#core.desk?.close()
      await this.#core.running?.stop()
    })
  }

  async #admit(port: PeerEndpoint, lock: string): Promise<void> {
    const peer = new PeerControlOf(this.#core)
    expose(peer, port)
    const locks = await usableLocks()
    if (!locks) return
    whenReleased(locks, lock, () => {
      peer.end()
      port.close()
    })
  }
}
