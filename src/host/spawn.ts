import { AgentDBError } from "../wire/errors.ts"

let source: string | undefined
let sourceUrl: string | undefined

/** From now on the package's own worker starts from this text: nobody put a file of it anywhere. */
export function startWorkersFrom(text: string): void {
  source = text
}

/** @throws AgentDBError `failed_precondition` where there are no workers: on a server, say. */
export function assertWorkers(): void {
  if (typeof Worker !== "undefined") return
  throw new AgentDBError("failed_precondition", "openAgentDB needs a browser: there is no Worker here")
}

/**
 * Starts the worker script; `url` is its address, for errors.
 * @throws AgentDBError `failed_precondition` if the browser refuses the address.
 */
export function spawnWorker(workerUrl?: string): { worker: Worker; url: string } {
  const url = workerUrl ?? inlineUrl()
  if (url === undefined) return spawnDefault()
  try {
    return { worker: new Worker(url, { type: "module" }), url }
  } catch (error) {
    throw refused(url, error)
  }
}

/** One for the life of the page: a worker that died is started again from it. */
function inlineUrl(): string | undefined {
  if (source !== undefined) sourceUrl ??= URL.createObjectURL(new Blob([source], { type: "text/javascript" }))
  return sourceUrl
}

/**
 * Bundlers find the worker by this very expression, and only they know the address
 * it stands for in the end. A worker that can't be loaded reports an event without an
 * address, so the constructor is watched while it is called: in one synchronous turn.
 */
function spawnDefault(): { worker: Worker; url: string } {
  const Native = globalThis.Worker
  let url = "worker.js"
  globalThis.Worker = class extends Native {
    constructor(scriptUrl: string | URL, options?: WorkerOptions) {
      url = String(scriptUrl)
      super(scriptUrl, options)
    }
  }
  try {
    return { worker: new Worker(new URL("./worker.js", import.meta.url), { type: "module" }), url }
  } catch (error) {
    throw refused(url, error)
  } finally {
    globalThis.Worker = Native
  }
}

function refused(url: string, cause: unknown): AgentDBError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new AgentDBError("failed_precondition", `the worker ${url} could not be started: ${why}`, { cause })
}

/** For a worker that ends with an `error` event before it said anything. */
export function loadFailure(url: string, event: Event): AgentDBError {
  const said = event instanceof ErrorEvent && event.message ? event.message : "not found, not JavaScript, or blocked"
  const hint = url === sourceUrl ? "; a content security policy without worker-src blob: needs workerUrl" : ""
  return new AgentDBError("failed_precondition", `the worker ${url} could not be loaded: ${said}${hint}`)
}
