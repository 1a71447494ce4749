/** A database as the management plane tells of it. Times are Unix seconds. */
export interface DatabaseInfo {
  readonly databaseId: string
  readonly region: string
  readonly createdAt: number
  /** 0 never. */
  readonly expiresAt: number
  /** Latest durable commit sequence. */
  readonly tip: number
}
