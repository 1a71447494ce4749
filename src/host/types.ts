import type {
  ConnectOptions as ClientConnectOptions,
  CreatedDatabase,
  CreateOptions,
  Status,
  Token,
} from "../client/index.ts"
import type { Keys } from "../wire/jwt.ts"
import type { Limits } from "../wire/limits.ts"

export type StorageChoice = "auto" | "opfs" | "memory"

export interface OpenOptions {
  /** Storage namespace in the origin; the default is "agentdb". */
  name?: string
  /** `auto` is OPFS where it can be had, else memory with `status.reason`; `opfs` fails instead. */
  storage?: StorageChoice
  /** API key to secret; the default is `{ devkey: "secret" }`. The first one's project is where databases are made. */
  keys?: Keys
  /** The default is minted for the first key. The project of a token given here is used for databases too. */
  token?: Token
  limits?: Partial<Limits>
  /** Where the worker script is, for bundlers that can't find it. */
  workerUrl?: string | URL
  /** Where sqlite3.wasm is; the default is beside the worker. */
  wasmUrl?: string | URL
  /** Told of the status once this is open, and of each change. */
  onStatus?(status: Status): void
  /** @internal */
  testing?: { generation?: number; broadcastOnly?: boolean }
}

export interface RestoreOptions extends CreateOptions {
  /**
   * The file of the same name with `-wal` at its end, if a program that has the database open left one: it holds the
   * newest commits.
   */
  wal?: Blob | Uint8Array
  /** Told of bytes copied; after the last one the database is checked. */
  onProgress?(progress: { bytes: number; totalBytes: number }): void
  /** Rejects with `canceled`; nothing is left then. */
  signal?: AbortSignal
}

export interface RestoredDatabase extends CreatedDatabase {
  /** What the file may have lacked, for a person to read; empty most times. */
  warnings: string[]
}

export type ConnectOptions = Omit<ClientConnectOptions, "link" | "databaseId" | "token"> & { token?: Token }
