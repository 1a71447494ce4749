/** A file with synchronous access: the shape of FileSystemSyncAccessHandle. Offsets and sizes are bytes. */
export interface SyncFile {
  /** Fills `into` from `at` on and returns the bytes read: fewer at the end of the file. */
  read(into: Uint8Array, options: { at: number }): number
  /** Writes all of `from` at `at`, growing the file; returns the bytes written, fewer if the disk is full. */
  write(from: Uint8Array, options: { at: number }): number
  /** Cuts the file, or grows it with zeros. */
  truncate(size: number): void
  getSize(): number
  /** Returns once everything written so far would survive a power cut. */
  flush(): void
  close(): void
}

/** The open files of one database. Whoever opened them closes them, once. */
export interface DatabaseFiles {
  /** SQLite's name of the file, `/project/DB_id`: unique in its storage. */
  readonly path: string
  readonly main: SyncFile
  readonly wal: SyncFile
  readonly meta: SyncFile
  close(): void
}

/** The file of a dump while it is written, and after. Until it is published it counts as unfinished. */
export interface DumpFile {
  readonly file: SyncFile
  /** Closes the file, marks it finished and hands out its content; on OPFS that is the File on disk, not a copy. */
  publish(): Promise<Blob>
  /** Closes and erases the file. */
  discard(): Promise<void>
}

/** A file of a database as it is, in whatever state. */
export interface RawFile {
  readonly name: string
  /** On OPFS the File on disk. */
  readonly content: Blob
}

export interface DumpName {
  project: string
  id: string
  /** As given to `createDump`: it carries the expiry. */
  name: string
  /** It was never published: somebody writes it at this moment, or was killed while doing so. */
  unfinished: boolean
}

/**
 * Where databases live. One owner at a time: OPFS enforces it by its handles.
 * Every promise here rejects with an AgentDBError: `not_found`, `already_exists`, `invalid_argument` for a
 * name that cannot be one, `unavailable` while another worker still holds the files.
 */
export interface Storage {
  readonly kind: "opfs" | "memory"
  projects(): Promise<string[]>
  /** The ids that have a folder, whatever its state. */
  databases(project: string): Promise<string[]>
  /** False if somebody else has erased everything, or put another storage there: what is written is kept by nobody. */
  isThere(): Promise<boolean>
  /**
   * The whole meta file of a database that is not open; undefined if there is nothing of it, since its creation was
   * cut before it wrote or its removal has begun.
   * @throws AgentDBError `data_loss` if a file of it is missing while others hold something
   */
  readMeta(project: string, id: string): Promise<Uint8Array | undefined>
  /** False if a file of a database has been erased by somebody else. */
  isDatabaseThere(project: string, id: string): Promise<boolean>
  /** The files of a database that is not open, whatever is in them. */
  rawFiles(project: string, id: string): Promise<RawFile[]>
  /** New and empty files. */
  create(project: string, id: string): Promise<DatabaseFiles>
  /**
   * Every file has been flushed before this returns, so that what is read is what is on disk.
   * @throws AgentDBError `data_loss` if one is missing
   */
  open(project: string, id: string): Promise<DatabaseFiles>
  /** Erases a database that is not open. Once it has begun, every start goes on with it. Idempotent. */
  remove(project: string, id: string): Promise<void>
  /** An empty scratch file for a sorter, if one is at hand. */
  takeTemp(): SyncFile | undefined
  giveTemp(file: SyncFile): void
  createDump(project: string, id: string, name: string): Promise<DumpFile>
  dumps(): Promise<DumpName[]>
  removeDump(project: string, id: string, name: string): Promise<void>
  close(): Promise<void>
}
