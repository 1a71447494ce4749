/** Gathers what nobody caught while it is open. */
export class Uncaught implements Disposable {
  readonly #errors: unknown[] = []
  readonly #add = (error: unknown) => void this.#errors.push(error)

  constructor() {
    process.on("uncaughtException", this.#add)
    process.on("unhandledRejection", this.#add)
  }

  /** Throws what came since the last call. */
  check(): void {
    const [first] = this.#errors.splice(0)
    if (first === undefined) return
    throw new Error(`uncaught: ${first instanceof Error ? first.stack : String(first)}`)
  }

  [Symbol.dispose](): void {
    process.off("uncaughtException", this.#add)
    process.off("unhandledRejection", this.#add)
  }
}
