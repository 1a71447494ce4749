import { randomId } from "../../wire/random-id.ts"
import { holdLock, usableLocks, whenReleased } from "../locks.ts"

/**
 * The shared worker that hands ports from one tab to another; tabs can't transfer them any other way. It keeps no
 * state that matters: it dies without a word with the tab that started it, and the next one is as good.
 */

/** From a page to the broker. */
export type ToBroker =
  /** I take the ports for this run of the service, until `lock` is free. */
  | { readonly lead: string; readonly lock: string }
  /** Pass the port that comes with this to whoever leads that run; `lock` is held while I live. */
  | { readonly join: string; readonly lock: string }

/** From the broker to the page that leads. */
export type FromBroker =
  /** Held while the broker lives. */
  { readonly alive: string } | { readonly joined: string }

const maxWaiting = 64
/** Longer than a page waits for an answer. */
const waitingMs = 10_000

interface Join {
  readonly lock: string
  readonly port: MessagePort
}

export function runBroker(scope: { onconnect: ((event: MessageEvent) => void) | null }): void {
  const leaders = new Map<string, MessagePort>()
  const waiting = new Map<string, Set<Join>>()
  const alive = `agentdb-broker:${randomId()}`

  const pass = (to: MessagePort, { lock, port }: Join) => to.postMessage({ joined: lock } satisfies FromBroker, [port])
  const lead = async (term: string, lock: string, port: MessagePort) => {
    const locks = await ready
    leaders.set(term, port)
    if (locks) {
      whenReleased(locks, lock, () => leaders.delete(term))
      port.postMessage({ alive } satisfies FromBroker)
    }
    for (const join of waiting.get(term) ?? []) pass(port, join)
    waiting.delete(term)
  }
  const join = (term: string, join: Join) => {
    const leader = leaders.get(term)
    if (leader) pass(leader, join)
    else wait(term, join)
  }
  const wait = (term: string, join: Join) => {
    const joins = waiting.get(term) ?? new Set()
    if (joins.size >= maxWaiting) return
    waiting.set(term, joins.add(join))
    setTimeout(() => {
      joins.delete(join)
      if (joins.size === 0 && waiting.get(term) === joins) waiting.delete(term)
    }, waitingMs)
  }
  const ready = usableLocks().then(async (locks) => {
    if (locks) await holdLock(locks, alive)
    return locks
  })

  scope.onconnect = ({ ports: [port] }) => {
    if (!port) return
    port.onmessage = ({ data, ports }: MessageEvent<ToBroker>) => {
      if ("lead" in data) void lead(data.lead, data.lock, port)
      else if (ports[0]) join(data.join, { lock: data.lock, port: ports[0] })
    }
  }
}
