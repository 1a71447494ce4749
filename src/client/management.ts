/** A database as the management plane describes it. Times are Unix seconds, 0 is never. */
export interface DatabaseInfo {
  databaseId: string
  region: string
  createdAt: number
  expiresAt: number
  /** The latest durable commit sequence. */
  tip: number
}

export interface CreateOptions {
  /** Default `local`. */
  region?: string | undefined
  /** Whole seconds to live; 0 (default) never expires. Clamped to the service's cap. */
  ttlSeconds?: number | bigint | undefined
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
