import { type Remote, releaseProxy } from "comlink"
import type { Dump, HeldDump, Publish } from "../server/dumps.ts"
import type { Created, CreateOptions, ListOptions, Page } from "../server/management.ts"
import type { TwirpRequest, TwirpResponse } from "../server/twirp.ts"
import type { DatabaseInfo } from "../wire/database-info.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"
import type { StorageChoice } from "./types.ts"

/** Bytes of a copy that is being made. */
export type OnProgress = (doneBytes: number, totalBytes: number) => void

/** What a control call answers: a thrown error would lose its code on the way. */
export type Outcome<T> = { readonly ok: T } | { readonly error: { readonly code: string; readonly message: string } }

export interface StartOptions {
  readonly name: string
  readonly storage: StorageChoice
  /** Why the page itself sees no OPFS, if so. */
  readonly opfsProblem: string | undefined
  readonly keys: Record<string, string>
  readonly limits: Limits
  /** Absolute. */
  readonly wasmUrl: string | undefined
  /** The worker holds this lock while it lives. */
  readonly workerLock: string
  /** How long a worker that is about to die may keep the name. */
  readonly ownerWaitMs: number
}

export interface Started {
  readonly storage: "opfs" | "memory"
  /** Why it is memory, if that was not asked for. */
  readonly reason: string | undefined
}

/**
 * The control plane of a worker. An owner is one handle of one page: what it
 * opened ends when it is released, or when the lock it came with falls free.
 */
export interface Control {
  /** Once, before anything else. `heartbeat` carries the signs of life. */
  start(options: StartOptions, heartbeat: MessagePort): Promise<Outcome<Started>>
  attach(owner: string, lock: string | undefined): Promise<Outcome<void>>
  release(owner: string): Promise<Outcome<void>>
  /** Serves one Wire socket on `port`. */
  accept(owner: string, port: MessagePort): Promise<Outcome<void>>
  /** Posts the tip after each durable commit to `port`; any message on it ends the watch. */
  watch(owner: string, apiKey: string, databaseId: string, port: MessagePort): Promise<Outcome<void>>
  create(apiKey: string, options: CreateOptions): Promise<Outcome<Created>>
  get(apiKey: string, id: string): Promise<Outcome<DatabaseInfo>>
  list(apiKey: string, options: ListOptions): Promise<Outcome<Page>>
  delete(apiKey: string, id: string): Promise<Outcome<void>>
  /** `publish` makes the URL in the page, since one that the worker makes dies with it. */
  dump(apiKey: string, id: string, publish: Publish): Promise<Outcome<Dump>>
  /** A copy with its SHA-256, erased when `end` gets a message or falls with its owner. */
  hold(owner: string, apiKey: string, id: string, end: MessagePort, onProgress: OnProgress): Promise<Outcome<HeldDump>>
  twirp(request: TwirpRequest, publish: Publish): Promise<Outcome<TwirpResponse>>
  /** Ends every socket with 1001 and closes every database cleanly. */
  close(): Promise<Outcome<void>>
}

export async function outcome<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: await work() }
  } catch (error) {
    const { code, message } = AgentDBError.from(error)
    return { error: { code, message } }
  }
}

export function unwrap<T>(outcome: Outcome<T>): T {
  if ("error" in outcome) throw new AgentDBError(outcome.error.code, outcome.error.message)
  return outcome.ok
}

/** Runs `work` with a callback of the page, then lets its port go at once instead of when it is collected. */
export async function borrowing<T>(callback: Publish | OnProgress, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    ;(callback as unknown as Remote<Publish>)[releaseProxy]()
  }
}
