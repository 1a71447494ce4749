import type { Status } from "../client/index.ts"
import type { StorageNews } from "../server/catalog.ts"
import type { Joined, Started } from "./control.ts"

/** The status and whoever wants to hear of its changes. */
export class StatusBoard {
  #status: Status = { storage: "memory", persisted: false, role: "leader" }
  readonly #listeners = new Set<(status: Status) => void>()

  get status(): Status {
    return this.#status
  }

  listen(listener: (status: Status) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  set(next: Status): void {
    if (sameStatus(next, this.#status)) return
    this.#status = Object.freeze(next)
    for (const listener of this.#listeners) listener(next)
  }

  /** Something is out of the ordinary; the rest stays. */
  explain(reason: string, problem?: Status["problem"]): void {
    this.set({ ...this.#status, reason, ...(problem && { problem }) })
  }

  /** Asks the browser what it keeps for this origin. */
  async refreshEstimate(): Promise<void> {
    if (this.#status.storage === "memory") return
    const estimate = await readEstimate()
    this.set({ ...this.#status, ...estimate })
  }
}

function sameStatus(a: Status, b: Status): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof Status>
  return [...names].every((name) => a[name] === b[name])
}

/** What the browser keeps for this origin, for storage on OPFS. */
export async function readEstimate(): Promise<{ persisted: boolean; usage?: number; quota?: number }> {
  const storage = (navigator as { storage?: Partial<StorageManager> }).storage
  const [persisted, estimate] = await Promise.all([
    storage?.persisted?.().catch(() => false) ?? false,
    storage?.estimate?.().catch(() => undefined),
  ])
  const { usage, quota } = estimate ?? {}
  return { persisted, ...(usage === undefined ? {} : { usage }), ...(quota === undefined ? {} : { quota }) }
}

/** @param isMemoryLost whether another worker served this page before, in memory. */
export function statusOf(
  started: Started | Joined,
  role: Status["role"],
  estimate: Awaited<ReturnType<typeof readEstimate>>,
  isMemoryLost: boolean,
): Status {
  const { storage } = started
  const others = "differences" in started ? started.differences : []
  const reasons = [
    started.reason,
    isMemoryLost && "the worker before is gone, and with it what it held in memory",
    others.length > 0 && `the tab that has the files opened it with other options, which apply: ${others.join(", ")}`,
  ].filter(Boolean)
  return {
    storage,
    role,
    ...(storage === "opfs" ? estimate : { persisted: false }),
    ...(reasons.length > 0 ? { reason: reasons.join("; ") } : {}),
  }
}

/** Between two looks at the estimate while a service keeps growing. */
const newsMs = 3_000
const newsChannel = (name: string) => `agentdb-web storage ${name}`

/** With the identity of the storage that it is about: a page may have had another under this name. */
type Told = StorageNews & { readonly identity: string }

/** In the worker: what became of its storage, for the pages of all tabs. */
export function tellStorage(name: string, identity: string): (news: StorageNews) => void {
  const channel = new BroadcastChannel(newsChannel(name))
  return (news) => channel.postMessage({ ...news, identity } satisfies Told)
}

/** In a page: follows the storage of a service. Growth is told now and then, and a loss at once. */
export function followStorage(name: string, on: { grown(): void; lost(identity: string): void }): () => void {
  const channel = new BroadcastChannel(newsChannel(name))
  let timer: ReturnType<typeof setTimeout> | undefined
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data.problem !== undefined) on.lost(data.identity)
    timer ??= setTimeout(() => {
      timer = undefined
      on.grown()
    }, newsMs)
  }
  return () => {
    clearTimeout(timer)
    channel.close()
  }
}
