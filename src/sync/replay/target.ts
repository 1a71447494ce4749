import { AgentDBError, type Connection, type Statement } from "../../client/index.ts"
import { canceled } from "../online.ts"
import { quoteName } from "../quote.ts"
import { delayBefore, pause, type Retry } from "../retry.ts"

interface TargetOptions {
  readonly connect: () => Promise<Connection>
  readonly signal: AbortSignal
  readonly retry: Retry
}

/**
 * A database that is being made. Each step is one batch whose first statement can run once only, so a step whose
 * outcome a lost socket hid is sent again: it either runs now, or its first statement tells that it has run.
 */
export class Target {
  readonly #options: TargetOptions
  #connection: Connection | undefined
  #steps: string | undefined
  #step = 0

  constructor(options: TargetOptions) {
    this.#options = options
  }

  /** @param table name of a table that keeps count of the steps until `end` */
  async begin(table: string): Promise<void> {
    this.#steps = quoteName(table)
    await this.#once([`CREATE TABLE ${this.#steps}(step INTEGER PRIMARY KEY)`])
  }

  /** Runs all statements or none, and exactly once. */
  async apply(statements: readonly (Statement | string)[]): Promise<void> {
    const step = { sql: `INSERT INTO ${this.#steps} VALUES (?)`, params: [++this.#step] }
    await this.#once([step, ...statements])
  }

  async end(statements: readonly (Statement | string)[]): Promise<void> {
    await this.#once([`DROP TABLE ${this.#steps}`, ...statements])
  }

  /** Runs what may run twice, from the start again if the connection is lost. */
  readonly read = <T>(call: (db: Connection) => Promise<T>): Promise<T> => this.#attempt(call)

  async close(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    await connection?.close()
  }

  async #once(statements: readonly (Statement | string)[]): Promise<void> {
    let unknown = false
    await this.#attempt(async (db) => {
      try {
        await db.batch(statements, { signal: this.#options.signal })
      } catch (error) {
        if (!(error instanceof AgentDBError)) throw error
        if (unknown && error.statementIndex === 0 && /^SQLITE_(CONSTRAINT|ERROR)/.test(error.code)) return
        if (error.code === "disconnected") unknown = true
        throw error
      }
    })
  }

  async #attempt<T>(call: (db: Connection) => Promise<T>): Promise<T> {
    const { signal, retry } = this.#options
    for (let failures = 1; ; failures++) {
      let connected = false
      try {
        const db = await this.#connected()
        connected = true
        return await call(db)
      } catch (error) {
        if (signal.aborted) throw canceled()
        if (!isPassing(error, connected)) throw error
        const { code, message } = AgentDBError.from(error)
        if (failures >= retry.attempts) {
          throw new AgentDBError("unavailable", `the target can't be reached: ${message}`, { cause: error })
        }
        if (code !== "unavailable") await this.close()
        await pause(delayBefore(retry, failures), signal)
      }
    }
  }

  async #connected(): Promise<Connection> {
    this.#connection ??= await this.#options.connect()
    return this.#connection
  }
}

/** Whether it may work a little later. Whatever an application's own `connect` throws is taken for a lost network. */
function isPassing(error: unknown, connected: boolean): boolean {
  if (!(error instanceof AgentDBError)) return !connected
  return error.code === "disconnected" || error.code === "unavailable" || error.code === "closed"
}
