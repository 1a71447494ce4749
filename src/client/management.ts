import type { DatabaseInfo } from "../wire/database-info.ts"

export interface CreateOptions {
  /** Default `local`. */
  region?: string | undefined
  /** Whole seconds to live; 0 (default) never expires. Clamped to the service's cap. */
  ttlSeconds?: number | bigint | undefined
  /** Makes it idempotent: for a day, creating again with the same id gives the same database. */
  requestId?: string | undefined
}

export interface CreatedDatabase {
  databaseId: string
  expiresAt: number
}

export interface ListOptions {
  /** 1 to 1,000, clamped; 0 is the default, 100. */
  pageSize?: number | undefined
  /** `nextPageToken` of the page before. */
  pageToken?: string | undefined
}

export interface DatabasePage {
  databases: DatabaseInfo[]
  /** Empty on the last page. */
  nextPageToken: string
}

export interface Dump {
  downloadUrl: string
  /** When the URL ends. */
  expiresAt: number
  tip: number
}
