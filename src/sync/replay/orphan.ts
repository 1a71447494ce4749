import { bytesToHex } from "@noble/hashes/utils.js"
import { AgentDBError, type SinkOptions } from "../../client/index.ts"
import { delayBefore, pause, type Retry } from "../retry.ts"
import type { DatabaseService } from "./replay.ts"

/** What is remembered of it: enough to find it after the page is gone. */
interface Trace {
  readonly requestId: string
  readonly databaseId?: string
}

interface Place {
  readonly service: DatabaseService
  readonly retry: Retry
}

/**
 * A database that is not whole yet. It is written down before it is made: creating is idempotent by a request id,
 * so what a lost answer hides is found by asking again.
 */
export class Orphan {
  readonly #service: DatabaseService
  readonly #retry: Retry
  readonly #remember: (resume: string) => Promise<void>
  #trace: Trace
  /** There is nothing to delete. */
  #refused = false

  private constructor({ service, retry }: Place, trace: Trace, remember: (resume: string) => Promise<void>) {
    this.#service = service
    this.#retry = retry
    this.#trace = trace
    this.#remember = remember
  }

  static async plan(place: Place, { remember }: Pick<SinkOptions, "remember">): Promise<Orphan> {
    const requestId = bytesToHex(crypto.getRandomValues(new Uint8Array(16)))
    const orphan = new Orphan(place, { requestId }, remember)
    await remember(JSON.stringify({ requestId }))
    return orphan
  }

  /** One that an earlier push wrote down. */
  static of(place: Place, resume: string): Orphan | undefined {
    const trace = parse(resume)
    return trace && new Orphan(place, trace, async () => {})
  }

  async create(region: string | undefined): Promise<string> {
    const { requestId } = this.#trace
    const { databaseId } = await patiently(this.#retry, () =>
      this.#service.createDatabase({ region, requestId }),
    ).catch((error: unknown) => {
      this.#refused = !isUnknown(error)
      throw error
    })
    this.#trace = { requestId, databaseId }
    await this.#remember(JSON.stringify(this.#trace))
    return databaseId
  }

  /**
   * Deletes it, made or not.
   * @param why what it is deleted for
   * @throws AgentDBError `unavailable` if that can't be had now; what was remembered finds it again
   */
  async delete(why: unknown): Promise<void> {
    if (this.#refused) return
    try {
      await patiently(this.#retry, async () => {
        const { requestId } = this.#trace
        const databaseId = this.#trace.databaseId ?? (await this.#service.createDatabase({ requestId })).databaseId
        this.#trace = { requestId, databaseId }
        await this.#service.deleteDatabase(databaseId)
      })
    } catch (cause) {
      const { code, message } = AgentDBError.from(cause)
      if (code === "not_found") return
      const what = `an unfinished database${this.#trace.databaseId ? ` ${this.#trace.databaseId}` : ""} is left at the target`
      const because = why === undefined ? "" : ` of a push that failed (${AgentDBError.from(why).message})`
      const text = `${what}${because} and can't be deleted now (${message}); the next push deletes it`
      throw new AgentDBError("unavailable", text, { cause: why ?? cause })
    }
  }
}

function parse(resume: string): Trace | undefined {
  try {
    const { requestId, databaseId } = JSON.parse(resume) as Partial<Trace>
    if (typeof requestId !== "string") return undefined
    return typeof databaseId === "string" ? { requestId, databaseId } : { requestId }
  } catch {
    return undefined
  }
}

/** Whether the call may have been executed, or may be if it is sent again. */
function isUnknown(error: unknown): boolean {
  const { code } = AgentDBError.from(error)
  return code === "disconnected" || code === "unavailable"
}

/** Creating with a request id and deleting may both be repeated, whatever came of the call before. */
async function patiently<T>(retry: Retry, call: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await call()
    } catch (error) {
      if (failures >= retry.attempts || !isUnknown(error)) throw error
      // An abort waits for it: it is what leaves nothing behind.
      await pause(delayBefore(retry, failures), new AbortController().signal)
    }
  }
}
