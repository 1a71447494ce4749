/** What the service of an origin runs on. */
export interface Status {
  storage: "opfs" | "memory"
  /** False where the browser may evict the files, and always in memory. */
  persisted: boolean
  /** Why it is not OPFS, or what else is out of the ordinary, for a person to read. */
  reason?: string
  /**
   * The stored files were erased from outside. Every call fails with this code, and no empty service takes their place
   * before the page is loaded anew.
   */
  problem?: "data_loss"
  /** Whether this tab runs the worker that owns the files. */
  role: "leader" | "follower"
  /** Bytes of the origin, as the browser estimates them. */
  usage?: number
  quota?: number
}
