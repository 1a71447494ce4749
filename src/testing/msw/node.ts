import { InProcessService } from "../../node/in-process.ts"
import { workerUrl } from "../../node/worker-url.ts"
import { type AgentDBHandlers, type HandlersOptions, handlersOf } from "./handlers.ts"

export type { Limits } from "../../wire/limits.ts"
export type { TestAgentDB } from "../test-agentdb.ts"
export type { AgentDBHandlers, Handler, HandlersOptions } from "./handlers.ts"

/**
 * Handlers for msw that serve AgentDB at `url`, from a fresh service in memory: in a thread of this process, and in
 * a page from a worker. It starts with the first socket, request or call, and ends by `close`, without which a
 * process may not end.
 *
 * msw intercepts the global `WebSocket` only; Node has one from version 22 on.
 * @throws AgentDBError `invalid_argument` for bad limits or keys; TypeError for a `url` that is none.
 */
export function agentdbHandlers(options: HandlersOptions): AgentDBHandlers {
  return handlersOf(new InProcessService(options, workerUrl), options)
}
