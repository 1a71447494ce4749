import { randomId } from "../wire/random-id.ts"
import type { Supervisor } from "./supervisor.ts"

/** How the worker knows a handle of a page. */
export interface Membership {
  readonly owner: string
  /** Ends what the handle opened in the worker. */
  readonly leave: () => void
}

/** Makes a new handle known to the worker of `supervisor`, and to each one after it. */
export function join(supervisor: Supervisor): Membership {
  const owner = randomId()
  const forget = supervisor.eachLife((life) => {
    // Fails with its worker only, and the next one is told again.
    life.call((control) => control.attach(owner)).catch(() => {})
  })
  const leave = () => {
    forget()
    supervisor.serving?.call((control) => control.release(owner)).catch(() => {})
  }
  return { owner, leave }
}
