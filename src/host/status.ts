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

/** @param isMemoryLost whether another worker served this page before. */
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
    storage === "memory" && isMemoryLost && "the worker was restarted, and what its memory held is gone",
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

/** In the worker: what became of its storage, for the pages of all tabs. */
export function tellStorage(name: string): (news: StorageNews) => void {
  const channel = new BroadcastChannel(newsChannel(name))
  return (news) => channel.postMessage(news)
}

/** In a page: follows the storage of a service. Growth is told now and then, and a loss at once. */
export function followStorage(name: string, listener: (news: StorageNews) => void): () => void {
  const channel = new BroadcastChannel(newsChannel(name))
  let timer: ReturnType<typeof setTimeout> | undefined
  channel.onmessage = ({ data }: MessageEvent<StorageNews>) => {
    if (data.problem !== undefined) listener(data)
    timer ??= setTimeout(() => {
      timer = undefined
      listener({})
    }, newsMs)
  }
  return () => {
    clearTimeout(timer)
    channel.close()
  }
}
