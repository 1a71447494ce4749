import { Heartbeat } from "../link/heartbeat.ts"
import type { Keys } from "../wire/jwt.ts"
import {
  type Joined,
  type JoinOptions,
  type Outcome,
  outcome,
  type PeerControl,
  type Started,
  type StartOptions,
} from "./control.ts"
import { type Core, ServiceControl } from "./service-control.ts"

/** What a peer may know of the service. */
export interface Peers extends Core {
  readonly beats: Set<Heartbeat>
  readonly options: StartOptions | undefined
  readonly started: Started
}

/** The control plane of a worker for one page of another tab. */
export class PeerControlOf extends ServiceControl implements PeerControl {
  readonly #peers: Peers
  #beats: Heartbeat | undefined

  constructor(peers: Peers) {
    super(peers)
    this.#peers = peers
  }

  join(options: JoinOptions, heartbeat: MessagePort): Promise<Outcome<Joined>> {
    return outcome(async () => {
      const { service, started, beats, options: own } = this.#peers
      // Who comes after everything was erased is served by whoever comes next.
      await service.checkStored()
      this.#beats = new Heartbeat(heartbeat, 0)
      beats.add(this.#beats)
      return { ...started, differences: own ? differences(options, own) : [] }
    })
  }

  override end(): void {
    super.end()
    if (!this.#beats) return
    this.#peers.beats.delete(this.#beats)
    this.#beats.stop()
  }
}

function differences(theirs: JoinOptions, ours: StartOptions): string[] {
  const names = Object.keys(ours.limits) as (keyof typeof ours.limits)[]
  const limits = names.filter((name) => theirs.limits[name] !== ours.limits[name]).map((name) => `limits.${name}`)
  const keys = theirs.keys && !sameKeys(theirs.keys, ours.keys) ? ["keys"] : []
  const storage = theirs.storage === ours.storage ? [] : ["storage"]
  return [...storage, ...keys, ...limits]
}

function sameKeys(a: Keys, b: Keys): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}
