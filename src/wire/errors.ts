/**
 * The codes of the protocol. An error of the SQL engine carries SQLite's
 * extended result name instead (`SQLITE_CONSTRAINT_UNIQUE`, `SQLITE_FULL`, ...).
 */
export type ProtocolCode =
  | "canceled"
  | "deadline_exceeded"
  | "invalid_argument"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "unauthenticated"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "unimplemented"
  | "unavailable"
  | "internal"
  | "data_loss"

/** Codes that only a client makes; they never travel. */
export type ClientCode =
  /** The connection was closed by its owner. */
  | "closed"
  /** The frame was sent and the socket died: the outcome is unknown. */
  | "disconnected"
  /** The server sent what the protocol does not allow. */
  | "invalid_response"

/** `(string & {})` keeps completion for the known codes and admits SQLite's names. */
export type ErrorCode = ProtocolCode | ClientCode | (string & {})

const brand = Symbol.for("agentdb-web.AgentDBError")

/** Every failure of this package, on either side of the wire. */
export class AgentDBError extends Error {
  /** Stable and machine-readable. */
  readonly code: ErrorCode
  /** 0-based index of the statement of a batch that failed. */
  readonly statementIndex?: number

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown; statementIndex?: number }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause })
    // An abort is told apart by name everywhere in the platform.
    this.name = code === "canceled" ? "AbortError" : "AgentDBError"
    this.code = code
    if (options?.statementIndex !== undefined) this.statementIndex = options.statementIndex
    Object.defineProperty(this, brand, { value: true })
  }

  /** True if the request was not executed and may be sent again as it is. */
  get retryable(): boolean {
    return this.code === "unavailable"
  }

  /** `unknown` as an AgentDBError: itself if it is one, else `internal` with the cause kept. */
  static from(error: unknown, code: ErrorCode = "internal"): AgentDBError {
    if (error instanceof AgentDBError) return error
    return new AgentDBError(code, error instanceof Error ? error.message : String(error), { cause: error })
  }

  /** True across realms and across copies of this package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true
  }
}
