import { type Remote, releaseProxy } from "comlink"
import type { Dump, HeldDump, Publish } from "../server/dumps.ts"
import type { Created, CreateOptions, ListOptions, Page, Restored } from "../server/management.ts"
import type { TwirpRequest, TwirpResponse } from "../server/twirp.ts"
import type { RawFile } from "../storage/storage.ts"
import type { DatabaseInfo } from "../wire/database-info.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Keys } from "../wire/jwt.ts"
import type { Limits } from "../wire/limits.ts"
import type { Term } from "./tabs/notices.ts"
import type { StorageChoice } from "./types.ts"

/** Bytes of a copy that is being made. */
export type OnProgress = (doneBytes: number, totalBytes: number) => void

/** A file that is to become a database. Blobs pass by reference. */
export interface RestoreFile {
  readonly file: Blob
  readonly wal: Blob | undefined
  /** A `blob:` URL, which is revoked to cancel; it can be read while the worker can't be told otherwise. */
  readonly alive: string
}

/** What a control call answers: a thrown error would lose its code on the way. */
export type Outcome<T> = { readonly ok: T } | { readonly error: { readonly code: string; readonly message: string } }

export interface StartOptions {
  readonly name: string
  readonly storage: StorageChoice
  /** Why the page itself sees no OPFS, if so. */
  readonly opfsProblem: string | undefined
  readonly keys: Keys
  readonly limits: Limits
  /** Absolute. */
  readonly wasmUrl: string | undefined
  readonly generation: number
  /** Of the storage that has to be there, if the page had one before. */
  readonly identity: string | undefined
  /** Of this worker. It holds the lock of its id while it lives. */
  readonly term: Term
}

export interface Started {
  readonly storage: "opfs" | "memory"
  /** Why it is memory, if that was not asked for. */
  readonly reason: string | undefined
  /** Tells the files from others that took their place; undefined in memory. */
  readonly identity: string | undefined
  readonly keys: Keys
}

/** What a page of another tab would have started the service with. */
export interface JoinOptions {
  readonly storage: StorageChoice
  /** Undefined where the page named none. */
  readonly keys: Keys | undefined
  readonly limits: Limits
}

export interface Joined extends Started {
  /** The options that are other ones here. */
  readonly differences: string[]
}

/**
 * The control plane of a worker. An owner is one handle of one page: what it
 * opened ends when it is released, or when its page is gone.
 */
export interface ServiceCalls {
  attach(owner: string): Promise<Outcome<void>>
  release(owner: string): Promise<Outcome<void>>
  /** Serves one Wire socket on `port`. */
  accept(owner: string, port: MessagePort): Promise<Outcome<void>>
  /** Posts the tip after each durable commit to `port`; any message on it ends the watch. */
  watch(owner: string, apiKey: string, databaseId: string, port: MessagePort): Promise<Outcome<void>>
  create(apiKey: string, options: CreateOptions): Promise<Outcome<Created>>
  get(apiKey: string, id: string): Promise<Outcome<DatabaseInfo>>
  list(apiKey: string, options: ListOptions): Promise<Outcome<Page>>
  delete(apiKey: string, id: string): Promise<Outcome<void>>
  rawFiles(apiKey: string, id: string): Promise<Outcome<RawFile[]>>
  /** `publish` makes the URL in the page, since one that the worker makes dies with it. */
  dump(apiKey: string, id: string, publish: Publish): Promise<Outcome<Dump>>
  /** A copy with its SHA-256, erased when `end` gets a message or falls with its owner. */
  hold(owner: string, apiKey: string, id: string, end: MessagePort, onProgress: OnProgress): Promise<Outcome<HeldDump>>
  /** Canceled by a message on `end`, or with its owner. */
  restore(
    owner: string,
    apiKey: string,
    from: RestoreFile,
    options: CreateOptions,
    end: MessagePort,
    onProgress: OnProgress,
  ): Promise<Outcome<Restored>>
  twirp(request: TwirpRequest, publish: Publish): Promise<Outcome<TwirpResponse>>
}

/** For the page that started the worker. */
export interface Control extends ServiceCalls {
  /** Once, before anything else. `heartbeat` carries the signs of life. */
  start(options: StartOptions, heartbeat: MessagePort): Promise<Outcome<Started>>
  /** Takes in a page of another tab, until `lock` falls free. Its calls come by `port`. */
  admit(port: MessagePort, lock: string): Promise<Outcome<void>>
  /** Ends every socket with 1001 and closes every database cleanly. */
  close(): Promise<Outcome<void>>
}

/** For a page of another tab. */
export interface PeerControl extends ServiceCalls {
  /** Once, before anything else. `heartbeat` carries the signs of life. */
  join(options: JoinOptions, heartbeat: MessagePort): Promise<Outcome<Joined>>
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
