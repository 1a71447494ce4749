import type { Link } from "../link/link.ts"
import type { ValueType } from "../wire/column-batch.ts"
import type { Param, Value } from "../wire/values.ts"

/** One SQL statement and its positional parameters; `sql` templates make them. */
export interface Statement {
  readonly sql: string
  readonly params?: readonly Param[]
}

export interface CallOptions {
  /** Aborted before: nothing is sent. Aborted during: Cancel is sent. Both reject with `canceled` (an AbortError). */
  signal?: AbortSignal | undefined
  /** Milliseconds until Cancel is sent and the call rejects with `deadline_exceeded`. */
  timeoutMs?: number | undefined
}

export interface QueryOptions extends CallOptions {
  /** Rows as objects by column name (default), or as arrays in column order. */
  rowMode?: "object" | "array" | undefined
  /** INTEGER as a number where it is safe and else a bigint (default), always a bigint, or always a number (RangeError). */
  integers?: "auto" | "bigint" | "number" | undefined
  /** ColumnBatches under way at most; default 8, at least 5. */
  window?: number | undefined
  /** TEXT that is not UTF-8: U+FFFD in its place (default), or `invalid_response`. */
  text?: "replace" | "strict" | undefined
}

/** A row by column name. A second column of the same name is `name:1`. */
export type Row = Record<string, Value>

export interface ExecResult {
  rowsAffected: number
  /** 0 if the statement inserted nothing. A bigint only where a number would be rounded. */
  lastInsertId: number | bigint
  tip: number
}

export interface RowsResult {
  columns: string[]
  rows: Row[]
}

export interface BatchResult {
  tip: number
  /** One a statement, in order. A server that answers a whole batch by one ExecResult gives one. */
  results: (ExecResult | RowsResult)[]
}

/** Rows of a result as columns, without row objects. Views are over the frame they came in. */
export interface Batch {
  readonly rows: number
  readonly columns: readonly BatchColumn[]
}

export interface BatchColumn {
  /** One value a row, by the query's `integers` and `text`. */
  values(): Value[]
  /** The INTEGER values only, in row order. */
  ints(): BigInt64Array<ArrayBuffer>
  /** The REAL values only, in row order. */
  doubles(): Float64Array<ArrayBuffer>
  /** The TEXT and BLOB values only, in row order, to the byte: TEXT as stored, in UTF-8. Views over the frame. */
  bytes(): Uint8Array<ArrayBuffer>[]
  /** The storage class of a row's value. */
  type(row: number): ValueType
}

/** A result, read once. Nothing is sent before it is read; leaving it early cancels it. */
export interface RowStream<T> extends AsyncIterable<T>, AsyncDisposable {
  /** Known before any row. Does not count as the one reading. */
  columns(): Promise<string[]>
  all(): Promise<T[]>
  /** The first row, after which the stream is cancelled. */
  first(): Promise<T | undefined>
  batches(): AsyncIterable<Batch>
  /** Settles when the result has ended, which needs someone to read it. A rejection need not be handled. */
  readonly done: Promise<{ tip: number; totalRows: number }>
  cancel(): void
}

/** What runs statements: a connection, or a transaction on it. */
export interface Executor {
  /** Runs one statement to its end and discards its rows. */
  exec(sql: string | Statement, params?: readonly Param[], o?: CallOptions): Promise<ExecResult>
  query<T = Value[]>(
    sql: string | Statement,
    params: readonly Param[] | undefined,
    o: QueryOptions & { rowMode: "array" },
  ): RowStream<T>
  query<T = Row>(sql: string | Statement, params?: readonly Param[], o?: QueryOptions): RowStream<T>
  /** All statements or none, in order. An error that has a `statementIndex` names the culprit. */
  batch(statements: readonly (Statement | string)[], o?: CallOptions): Promise<BatchResult>
  /** Commits when `fn` returns, rolls back when it throws. On a transaction: a savepoint. */
  transaction<T>(fn: (tx: Transaction) => Promise<T>, o?: CallOptions): Promise<T>
}

export interface Transaction extends Executor, AsyncDisposable {
  /** If it fails for the data's sake (a deferred foreign key) the transaction stays open. */
  commit(o?: CallOptions): Promise<{ tip: number }>
  rollback(): Promise<void>
}

export interface Connection extends Executor, AsyncDisposable {
  readonly databaseId: string
  /** The newest commit sequence that an answer has shown. */
  readonly tip: number
  begin(o?: CallOptions): Promise<Transaction>
  /** The round trip in milliseconds. */
  ping(): Promise<number>
  close(): Promise<void>
}

export interface ReconnectOptions {
  /** How long a call waits for a new socket, and how long `unavailable` is asked again; default 4,000 ms. */
  maxWaitMs?: number
  /** Before attempt n a random part of `minDelayMs * 2 ** n`, at most `maxDelayMs`, passes; defaults 50 and 1,000 ms. */
  minDelayMs?: number
  maxDelayMs?: number
}

/** Where a token comes from; a function is asked at each Hello. */
export type Token = string | (() => string | Promise<string>)

/** A ready link, or what one is made of. */
export type LinkLike = Link | MessagePort | WebSocket

export interface ConnectOptions {
  /** Links by a factory or by a ws(s) URL can be made again, so only those reconnect and have sockets for transactions. */
  link: LinkLike | string | URL | (() => LinkLike | Promise<LinkLike>)
  databaseId: string
  token: Token
  /** Default true. */
  reconnect?: boolean | ReconnectOptions | undefined
  /** Ends the attempt to connect. */
  signal?: AbortSignal | undefined
}
