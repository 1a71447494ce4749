import type { AgentDB } from "../../host/agentdb.ts"
import { openAgentDB } from "../../host/open-agentdb.ts"
import { AgentDBError } from "../../wire/errors.ts"
import { resolveLimits } from "../../wire/limits.ts"
import type { LocalService } from "../local-service.ts"
import { type AgentDBHandlers, type HandlersOptions, handlersOf } from "./handlers.ts"

export type { Limits } from "../../wire/limits.ts"
export type { TestAgentDB } from "../test-agentdb.ts"
export type { AgentDBHandlers, Handler, HandlersOptions } from "./handlers.ts"

/** As in Node (see `node.ts`), over a worker of this page. */
export function agentdbHandlers(options: HandlersOptions): AgentDBHandlers {
  // A mistake shows here, as in Node, and not at the first use.
  resolveLimits(options.limits)
  return handlersOf(new PageService(options), options)
}

class PageService implements LocalService {
  readonly #options: HandlersOptions
  #agentdb: Promise<AgentDB> | undefined
  #closed = false

  constructor(options: HandlersOptions) {
    this.#options = options
  }

  async openLink() {
    return (await this.#open()).openLink()
  }

  async fetch(request: Request) {
    return (await this.#open()).fetch(request)
  }

  async close() {
    this.#closed = true
    const agentdb = await this.#agentdb?.catch(() => undefined)
    await agentdb?.close()
  }

  async #open(): Promise<AgentDB> {
    if (this.#closed) throw new AgentDBError("closed", "the service was closed")
    this.#agentdb ??= this.#start()
    return this.#agentdb
  }

  #start(): Promise<AgentDB> {
    const { keys, limits, workerUrl, wasmUrl } = this.#options
    // A name of its own: nothing that another one in this page has, and nothing that was there before.
    const id = crypto.getRandomValues(new Uint32Array(2)).join("-")
    return openAgentDB({
      name: `agentdb-web-msw-${id}`,
      storage: "memory",
      ...(keys && { keys }),
      ...(limits && { limits }),
      ...(workerUrl && { workerUrl }),
      ...(wasmUrl && { wasmUrl }),
    })
  }
}
