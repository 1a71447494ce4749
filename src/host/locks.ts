/**
 * The Web Locks of this origin, or undefined where there are none: plain http
 * has no `navigator.locks`, and in an opaque origin every request throws.
 */
export async function usableLocks(): Promise<LockManager | undefined> {
  const locks = (globalThis.navigator as { locks?: LockManager } | undefined)?.locks
  try {
    await locks?.query()
    return locks
  } catch {
    return undefined
  }
}

/** Takes `name`, whenever it is free, and keeps it until the returned function is called or this realm dies. */
export function holdLock(locks: LockManager, name: string, signal?: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const hold = () => new Promise<void>((release) => resolve(release))
    locks.request(name, signal ? { signal } : {}, hold).catch(reject)
  })
}

/**
 * Calls `then` once nobody holds `name`: its holder let it go or died. The holder
 * must have it already. Waiters share the lock, so that they never wait for each other.
 */
export function whenReleased(locks: LockManager, name: string, then: () => void, signal?: AbortSignal): void {
  const options: LockOptions = signal ? { mode: "shared", signal } : { mode: "shared" }
  // Fails with the wait taken back and with this realm's own end, when there is nobody left to tell.
  locks.request(name, options, then).catch(() => {})
}

/** Whether anybody holds `name`, as far as this realm can see. */
export async function isHeld(locks: LockManager, name: string): Promise<boolean> {
  const { held = [] } = await locks.query()
  return held.some((lock) => lock.name === name)
}

/** Held by the page whose worker serves `name` or is about to; the others wait for it. */
export const leaderLock = (name: string): string => `agentdb-leader:${name}`
/** Held by the one worker of the origin that has the files of `name`. */
export const ownerLock = (name: string): string => `agentdb:${name}`
/** Held by one worker for as long as it lives. */
export const workerLock = (term: string): string => `agentdb-worker:${term}`
/** Held by the page of that worker for as long as it wants it to serve. */
export const termLock = (term: string): string => `agentdb-term:${term}`
/** Held by a page of another tab for as long as it uses a worker. */
export const peerLock = (id: string): string => `agentdb-peer:${id}`
