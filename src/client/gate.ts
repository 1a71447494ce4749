import { AgentDBError } from "../wire/errors.ts"
import { defaultLimits } from "../wire/limits.ts"
import type { Stop } from "./stop.ts"
import { Waiters } from "./waiters.ts"

/**
 * Keeps calls out of a transaction that is not theirs where both share a socket. A
 * transaction holds the gate from its begin to its end; other calls queue, as long as
 * they would wait for the write turn, so a call that `fn` itself waits for can't hang.
 */
export class Gate {
  #held = false
  readonly #queue = new Waiters<void>()

  /** Acts when nobody holds the gate. `act` must do what needs the order synchronously. */
  pass<R>(act: () => Promise<R>, stop?: Stop): Promise<R> {
    if (!this.#held && this.#queue.size === 0) return act()
    return this.#queue.wait(act, defaultLimits.writeWaitMs, useTx, stop)
  }

  /** Resolves when the caller holds the gate; it must `leave`. */
  hold(stop?: Stop): Promise<void> {
    return this.pass(async () => {
      this.#held = true
    }, stop)
  }

  leave(): void {
    this.#held = false
    while (!this.#held && this.#queue.size > 0) this.#queue.next()
  }

  failAll(error: AgentDBError): void {
    this.#queue.failAll(error)
  }
}

/** Why a call gave up whose own connection is in a transaction. */
export const useTx = (): AgentDBError =>
  new AgentDBError(
    "failed_precondition",
    "a transaction of this connection holds the write turn: use tx inside transaction(fn)",
  )
