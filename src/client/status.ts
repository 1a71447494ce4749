/** What the service of an origin runs on. */
export interface Status {
  storage: "opfs" | "memory"
  /** False where the browser may evict the files, and always in memory. */
  persisted: boolean
  /** Why it is not OPFS. */
  reason?: string
  /** Whether this tab runs the worker that owns the files. */
  role: "leader" | "follower"
  /** Bytes of the origin, as the browser estimates them. */
  usage?: number
  quota?: number
}
