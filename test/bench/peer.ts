export type Scalar = null | number | string | Uint8Array
export type Row = Record<string, unknown>

/** A database in a browser, by its public API, as the workloads use it from the page. SQL has `?` for parameters. */
export interface Peer {
  /** A commit is flushed to the disk before it is answered. */
  readonly durable: boolean
  readonly dialect: "sqlite" | "postgres"
  /** It knows no recursive queries: tables are filled from the page. */
  readonly filledFromPage?: true
  /** Runs a statement in a transaction of its own. */
  exec(sql: string, params?: readonly Scalar[]): Promise<unknown>
  /** All rows as objects. */
  all(sql: string): Promise<readonly Row[]>
  /** One row by a parameter. */
  get(sql: string, params: readonly Scalar[]): Promise<Row | undefined>
  /** Runs one statement once for each of `rows`, in one transaction. */
  many(sql: string, rows: readonly (readonly Scalar[])[]): Promise<unknown>
  /** Milliseconds until the first row is in the page, where rows come before all of them are read. */
  firstRow?(sql: string): Promise<number>
  /** Reads all without objects for rows; returns how many there were. */
  columns?(sql: string): Promise<number>
  /** Reads all, pausing after each part that comes; returns how many there were. */
  slowly?(sql: string, pauseMs: number): Promise<number>
}
