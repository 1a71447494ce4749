import { AgentDBError } from "../client/index.ts"

/** Whether this page believes to have a network. What knows nothing of networks is taken to have one. */
export const isOnline = (): boolean => globalThis.navigator?.onLine !== false

/** Resolves once there is a network; rejects with `canceled`. */
export function online(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(canceled())
    if (isOnline()) return resolve()
    const over = new AbortController()
    const settle = (then: () => void) => () => {
      over.abort()
      then()
    }
    addEventListener("online", settle(resolve), { signal: over.signal })
    signal.addEventListener(
      "abort",
      settle(() => reject(canceled())),
      { signal: over.signal },
    )
  })
}

export const canceled = (): AgentDBError => new AgentDBError("canceled", "aborted by its signal")
