import { AgentDBError } from "../wire/errors.ts"

/**
 * Runs an operation and gives its failure the stack of this call: what happened on the
 * wire has a stack of its own that tells the caller nothing. Each caller gets its own
 * error object, also where one event (a lost socket) fails many calls.
 */
export async function traced<T>(operation: () => Promise<T>): Promise<T> {
  const site = new Error()
  try {
    return await operation()
  } catch (error) {
    throw atSite(error, site)
  }
}

/** Errors of other kinds pass as they are: they are thrown inside the call, or are the caller's own. */
export function atSite(error: unknown, site: Error): unknown {
  if (!(error instanceof AgentDBError)) return error
  const { code, message, cause, statementIndex } = error
  const own = new AgentDBError(code, message, {
    ...(cause === undefined ? {} : { cause }),
    ...(statementIndex === undefined ? {} : { statementIndex }),
  })
  const frames = site.stack?.replace(/^Error:?\s*\n/, "")
  if (frames)
    Object.defineProperty(own, "stack", {
      value: `${own.name}: ${message}\n${frames}`,
      writable: true,
      configurable: true,
    })
  return own
}
