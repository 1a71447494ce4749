import { AgentDBError } from "./errors.ts"

/** Every bound of the service. Bytes, counts, milliseconds or seconds as each name says. */
export interface Limits {
  /** A larger inbound frame closes the socket with 1009; no outbound frame is larger. */
  maxFrameBytes: number
  /** What a ColumnBatch aims at. */
  batchBytes: number
  /** What the first ColumnBatch of a stream aims at, so that it leaves early. */
  firstBatchBytes: number
  /** ColumnBatches a stream may send before any Credit. */
  initialCredit: number
  /** Captured rows a socket may hold. */
  captureBytes: number
  /** Queued request bytes a socket may hold. */
  queueBytes: number
  /** Queued requests a socket may hold. */
  queueFrames: number
  /** Open streams of a database. */
  openStreams: number
  /** Running time of a statement. */
  statementMs: number
  /** Running time of CREATE INDEX, VACUUM, REINDEX, ANALYZE, ALTER and restore. */
  maintenanceMs: number
  /** How long a request waits for the write turn. */
  writeWaitMs: number
  /** A transaction without a request for this long is rolled back. */
  txIdleMs: number
  /** A transaction open for this long is rolled back. */
  txTotalMs: number
  /** How often a client pings. */
  pingIntervalMs: number
  /** A socket silent for this long is closed. */
  pingTimeoutMs: number
  /** A WAL above this ends the oldest stalled stream, so that it can be reset. */
  walBytes: number
  /** Longest time to live; larger ones are clamped. */
  ttlCapSeconds: number
  /** How long a dump can be downloaded. */
  dumpUrlSeconds: number
  /** Databases of a project. */
  databases: number
  /** A database that nobody asks anything lets its files go after this; its sockets stay. */
  databaseIdleMs: number
  /** Databases whose files are open; above, those that are idle let them go at once, the longest idle first. */
  openDatabases: number
}

const MiB = 1024 * 1024

export const defaultLimits: Readonly<Limits> = {
  maxFrameBytes: 16 * MiB,
  batchBytes: 256 * 1024,
  firstBatchBytes: 16 * 1024,
  initialCredit: 4,
  captureBytes: 64 * MiB,
  queueBytes: 64 * MiB,
  queueFrames: 1024,
  openStreams: 64,
  statementMs: 30_000,
  maintenanceMs: 600_000,
  writeWaitMs: 4_000,
  txIdleMs: 30_000,
  txTotalMs: 300_000,
  pingIntervalMs: 5_000,
  pingTimeoutMs: 150_000,
  walBytes: 64 * MiB,
  ttlCapSeconds: 10 * 365 * 86_400,
  dumpUrlSeconds: 900,
  databases: 10_000,
  databaseIdleMs: 30_000,
  openDatabases: 32,
}

/**
 * The defaults with `overrides` laid over them.
 * @throws AgentDBError `invalid_argument` for an unknown name or a value that is no positive whole number.
 */
export function resolveLimits(overrides: Partial<Limits> = {}): Limits {
  const limits: Limits = { ...defaultLimits }
  for (const [name, value] of Object.entries(overrides)) {
    if (value === undefined) continue
    if (!Object.hasOwn(defaultLimits, name)) throw new AgentDBError("invalid_argument", `unknown limit ${name}`)
    if (!Number.isSafeInteger(value) || value <= 0) {
      throw new AgentDBError("invalid_argument", `limit ${name} must be a positive whole number, got ${String(value)}`)
    }
    limits[name as keyof Limits] = value
  }
  return limits
}
