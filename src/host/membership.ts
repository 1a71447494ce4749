import { handleLock, holdLock, randomId, usableLocks } from "./locks.ts"
import type { Supervisor } from "./supervisor.ts"

/** How the worker knows a handle of a page, and that it is still there. */
export interface Membership {
  readonly owner: string
  /** Ends what the handle opened in the worker. */
  readonly leave: () => void
}

/** Makes a new handle known to the worker of `supervisor`, and to each one after it. */
export async function join(supervisor: Supervisor): Promise<Membership> {
  const owner = randomId()
  const lock = handleLock(owner)
  const locks = await usableLocks()
  const unlock = locks && (await holdLock(locks, lock))
  const forget = supervisor.eachLife((life) => {
    // Fails with its worker only, and the next one is told again.
    life.call((control) => control.attach(owner, locks && lock)).catch(() => {})
  })
  const leave = () => {
    forget()
    unlock?.()
    supervisor.serving?.call((control) => control.release(owner)).catch(() => {})
  }
  return { owner, leave }
}
