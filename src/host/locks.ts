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

/**
 * Takes `name` and keeps it until the returned function is called or this realm dies.
 * Undefined if another realm kept it for `waitMs`.
 */
export function holdLock(locks: LockManager, name: string, waitMs?: number): Promise<(() => void) | undefined> {
  const patience = new AbortController()
  const timer = waitMs === undefined ? undefined : setTimeout(() => patience.abort(), waitMs)
  return new Promise((resolve, reject) => {
    locks
      .request(name, { signal: patience.signal }, () => {
        clearTimeout(timer)
        return new Promise<void>((release) => resolve(release))
      })
      .catch((error: unknown) => {
        if (patience.signal.aborted) resolve(undefined)
        else reject(error)
      })
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

/**
 * Held by the one worker of the origin that serves `name`. A page in the back/forward cache keeps its
 * locks and its worker; Chromium drops it from there as soon as another page asks for the lock.
 */
export const ownerLock = (name: string): string => `agentdb:${name}`
/** Held by one worker for as long as it lives. */
export const workerLock = (name: string, id: string): string => `agentdb:${name}:worker:${id}`
/** Held by the page of one handle, for as long as both live. */
export const handleLock = (name: string, id: string): string => `agentdb:${name}:handle:${id}`

/** 128 random bits; `crypto.randomUUID` is missing on plain http. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")
}
