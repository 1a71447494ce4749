import { canceled } from "./online.ts"
import type { Place } from "./push-records.ts"

/** Runs one `work` for a place at a time, in whatever tab. */
export async function withTurn<T>(place: Place, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  // Absent on plain-http origins, where the sinks' own conditions still keep two pushes apart.
  const locks = (globalThis.navigator as { locks?: LockManager } | undefined)?.locks
  if (!locks) return work()
  const name = `agentdb-web push ${JSON.stringify([place.databaseId, place.sink, place.target])}`
  let begun = false
  try {
    return (await locks.request(name, { signal }, () => {
      begun = true
      return work()
    })) as T
  } catch (error) {
    if (!begun && signal.aborted) throw canceled()
    throw error
  }
}
