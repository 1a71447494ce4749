import type { Connection } from "./types.ts"

/** A whole database as one SQLite file. */
export interface SnapshotFile {
  /** On disk, so it is never to be read whole. It can be read until the push that it was made for ends. */
  readonly blob: Blob
  /** SHA-256 of the bytes, in lowercase hex. */
  readonly sha256: string
  readonly tip: number
}

/** A consistent copy of a database, to be read at leisure. */
export interface SnapshotCopy {
  readonly connection: Connection
  readonly tip: number
  /** Closes the connection and erases the copy. */
  release(): Promise<void>
}

/** The database that a sink writes. */
export interface SnapshotSource {
  readonly databaseId: string
  /** A consistent copy as a file; made at the first call. */
  file(): Promise<SnapshotFile>
  /** A consistent copy as a database, for a sink that reads rows. The sink releases it. */
  open(): Promise<SnapshotCopy>
}

/** What a push does at this moment. */
export interface PushProgress {
  /** `waiting` is for the network; `dumping` computes the SHA-256 too. */
  phase: "waiting" | "dumping" | "uploading" | "verifying"
  doneBytes: number
  /** 0 while it is not known. */
  totalBytes: number
}

/** What is known of an earlier push of the same database to the same target. */
export interface EarlierPush {
  readonly tip: number
  readonly sha256: string
  /** Of the target after that push, if it has one. */
  readonly etag?: string | undefined
  /** What the sink asked to remember. */
  readonly resume?: string | undefined
}

export interface SinkOptions {
  /** Overwrite whatever the target holds. */
  readonly force: boolean
  /** The last push from this browser that was completed. */
  readonly last: EarlierPush | undefined
  /** A later one whose outcome is not known: this browser was killed, or the network went. */
  readonly unfinished: EarlierPush | undefined
  readonly signal: AbortSignal
  /** Keeps what the sink needs to go on with this push after a reload, such as the address of an upload. */
  remember(resume: string): Promise<void>
  onProgress(progress: PushProgress): void
}

/** What a sink wrote. */
export interface SinkResult {
  /** Bytes written. */
  size: number
  /** SHA-256 in lowercase hex, of the file or of what the sink makes of the content. */
  sha256: string
  tip: number
  /** Version of the target, where it tells one. */
  etag?: string
  /** Where it is, without credentials. */
  url?: string
  /** Id of the database that was made of it. */
  databaseId?: string
}

/** Where `pushSnapshot` of `agentdb-web/sync` puts a database. */
export interface SnapshotSink {
  /** The kind of sink, such as `tus`. */
  readonly name: string
  /** The place, without credentials: pushes are remembered by database, name and target. */
  readonly target: string
  /** False if the target is reached although the browser believes to be offline; the default is true. */
  readonly needsNetwork?: boolean
  /**
   * Writes the database and resolves once it is whole at the other end. Rejects with an AgentDBError: `canceled`
   * if `signal` aborts, `failed_precondition` if the target holds something newer, `unavailable` if it can't be
   * reached, `data_loss` if what arrived is not what was sent.
   */
  write(source: SnapshotSource, options: SinkOptions): Promise<SinkResult>
}
