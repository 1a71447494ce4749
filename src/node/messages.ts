import type { MessagePort } from "node:worker_threads"
import type { TwirpRequest, TwirpResponse } from "../server/twirp.ts"
import type { Keys } from "../wire/jwt.ts"
import type { Limits } from "../wire/limits.ts"

/** What a worker is born with. */
export interface WorkerData {
  readonly keys: Keys
  readonly limits: Limits
  /** Carries its signs of life. Transferred. */
  readonly heartbeat: MessagePort
  /** For its dumps; not there yet. */
  readonly dumpFolder: string
}

export type ToWorker =
  /** A socket was opened; `port` is transferred, and speaks what `TunnelLink` does. */
  | { readonly kind: "socket"; readonly port: MessagePort }
  /** `origin` is how the caller reaches this server: URLs in the answer start with it. */
  | { readonly kind: "twirp"; readonly call: number; readonly request: TwirpRequest; readonly origin: string }
  /** Closes the sockets with 1001 and the databases cleanly. */
  | { readonly kind: "stop" }

export type FromWorker =
  | { readonly kind: "started" }
  /** Comes before the call's answer, which names its URL. `file` is its path on disk, and the receiver's; `expiresAt` in Unix seconds. */
  | {
      readonly kind: "dump"
      readonly call: number
      readonly path: string
      readonly file: string
      readonly expiresAt: number
    }
  | { readonly kind: "answer"; readonly call: number; readonly response: TwirpResponse }
  | { readonly kind: "stopped" }
