import type { Clock } from "./clock.ts"

export type TurnOutcome = "granted" | "timeout" | "canceled"

interface Waiter {
  settle(outcome: TurnOutcome): void
}

/**
 * Who may use the write connection. One holder at a time; others wait in arrival
 * order, each at most `waitMs`. An interactive transaction holds it to its end.
 */
export class WriteTurn {
  #held = false
  readonly #waiters = new Set<Waiter>()
  readonly #clock: Clock
  readonly #waitMs: number
  readonly #keep: () => boolean

  /** @param keep asked at each release: true keeps the turn from the next in line, until `pass`. */
  constructor(clock: Clock, waitMs: number, keep: () => boolean = () => false) {
    this.#clock = clock
    this.#waitMs = waitMs
    this.#keep = keep
  }

  get free(): boolean {
    return !this.#held
  }

  /** Takes the turn if nobody has it. */
  tryTake(): boolean {
    if (this.#held) return false
    this.#held = true
    return true
  }

  /** Waits for the turn. `cancel` leaves the queue; on "granted" the caller holds the turn. */
  wait(): { outcome: Promise<TurnOutcome>; cancel(): void } {
    let cancel = () => {}
    const outcome = new Promise<TurnOutcome>((resolve) => {
      const waiter: Waiter = {
        settle: (outcome) => {
          this.#waiters.delete(waiter)
          disarm()
          resolve(outcome)
        },
      }
      const disarm = this.#clock.after(this.#waitMs, () => waiter.settle("timeout"))
      cancel = () => {
        if (this.#waiters.has(waiter)) waiter.settle("canceled")
      }
      this.#waiters.add(waiter)
    })
    return { outcome, cancel }
  }

  /** The holder is done. */
  release(): void {
    if (!this.#keep()) this.pass()
  }

  /** Gives the turn to the next in line. */
  pass(): void {
    const [next] = this.#waiters
    if (next) next.settle("granted")
    else this.#held = false
  }
}
