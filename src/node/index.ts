import { type AgentDBServer, type ServeOptions, serve } from "./serve.ts"
import { workerUrl } from "./worker-url.ts"

export type { Limits } from "../wire/limits.ts"
export type { Log } from "./log.ts"
export type { AgentDBServer, ServeOptions } from "./serve.ts"

/**
 * Starts an AgentDB service with its databases in memory: Wire over WebSockets at `/db`, Twirp at `/twirp/`.
 * SQLite runs in a thread of its own, which is ended and started again, empty, if it falls silent for longer
 * than a statement may run.
 * @throws AgentDBError `failed_precondition` if it cannot listen there (its `cause` is the system's error);
 * `invalid_argument` for bad limits or keys.
 */
export function serveAgentDB(options: ServeOptions = {}): Promise<AgentDBServer> {
  return serve(options, workerUrl)
}
