import type { AgentDBServiceClient } from "../client/service-client.ts"
import type { LinkLike, Token } from "../client/types.ts"
import type { Limits } from "../wire/limits.ts"

/** The five calls of the management plane, as `AgentDBServiceClient` and `openAgentDB` both offer them. */
export type ManagementCalls = Pick<
  AgentDBServiceClient,
  "createDatabase" | "getDatabase" | "listDatabases" | "deleteDatabase" | "dumpDatabase"
>

export interface ConformanceOptions {
  /** A fresh socket that has said nothing yet; the kit owns it and closes it. */
  open(): LinkLike | Promise<LinkLike>
  /** The management plane of the token's project. The kit makes databases by it, and deletes them again. */
  management: ManagementCalls
  /** Asked at each Hello. */
  token: Token
  /** An API key of that project: to make tokens that are to be refused. Without it most rules of tokens are not applicable. */
  key?: { readonly apiKey: string; readonly secret: string } | undefined
  /** A second project, which is to see nothing of the first. */
  otherProject?: { readonly management: ManagementCalls; readonly token: Token } | undefined
  /** The same management plane as Twirp: `url` is what stands before `/twirp/`. `fetch` defaults to the global one. */
  twirp?: { readonly url: string; readonly fetch?: typeof globalThis.fetch | undefined } | undefined
  /** Reads a dump's URL. Default: the `fetch` of `twirp`, or the global one. */
  download?: ((url: string) => Promise<Uint8Array>) | undefined
  /** What the target's limits are known to be, laid over the protocol's defaults. */
  limits?: Partial<Limits> | undefined
  /** The longest, in milliseconds, that a rule may wait for a limit of time to pass; default 5,000. */
  patienceMs?: number | undefined
  /** The largest amount, in bytes, that a rule may send or store to reach a limit of size; default 100 MiB. */
  volumeBytes?: number | undefined
  /** The service runs statements on the kit's own thread, so that nothing can reach one that is running. */
  sameThread?: boolean | undefined
  /** After this many milliseconds without an end a rule has failed; default 60,000. */
  hangMs?: number | undefined
  /** Which rules to run, by id or by the part of it before the dot; default all. */
  only?: readonly string[] | undefined
  /** Ends the run: the iteration rejects with its reason. */
  signal?: AbortSignal | undefined
}
