import { AgentDBError } from "agentdb-web/client"
import { assert } from "chai"

export { assert } from "chai"

/** As bundlers and compilers have it where an engine lacks it. */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")

/** What a promise rejects with. */
export async function failure(promise: Promise<unknown>, about = ""): Promise<Error> {
  try {
    await promise
  } catch (error) {
    assert.instanceOf(error, Error, about)
    return error as Error
  }
  throw new Error(`${about || "it"} did not reject`)
}

/** What each of them rejects with; none is left unheard while another one is waited for. */
export const failures = (promises: readonly Promise<unknown>[], about = ""): Promise<Error[]> =>
  Promise.all(promises.map((promise) => failure(promise, about)))

/** Checks that it rejects with an AgentDBError of a code, and of a text if given; returns it. */
export async function fails(
  promise: Promise<unknown>,
  code: string,
  text: string | RegExp = "",
  about = "",
): Promise<AgentDBError> {
  const error = await failure(promise, about)
  assert.instanceOf(error, AgentDBError, `${about} ${String(error.stack)}`)
  const ours = error as AgentDBError
  assert.strictEqual(ours.code, code, `${about} ${ours.message}`)
  if (typeof text === "string") assert.include(ours.message, text, about)
  else assert.match(ours.message, text, about)
  return ours
}

/** Checks for the one error of whatever was stopped by its caller. */
export async function isCanceled(promise: Promise<unknown>, about = ""): Promise<void> {
  const error = await fails(promise, "canceled", "", about)
  assert.strictEqual(error.name, "AbortError", about)
}

/** Rejects if `promise` has not settled after `ms`: a hang detector, not a speed goal. */
export async function inTime<T>(promise: Promise<T>, ms: number, about: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${about} has not settled after ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
