import type { SnapshotSink } from "agentdb-web/client"
import { presignedPut } from "agentdb-web/sync"

/** A snapshot that the server keeps. */
export interface StoredSnapshot {
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** Unix seconds. */
  readonly savedAt: number
}

/** The folder of snapshots beside this page, which `npm start` serves and other servers of the demo lack. */
export class SnapshotServer {
  readonly #folder = new URL("snapshots/", document.baseURI)

  /** Newest first, or why there is no list. */
  async list(): Promise<StoredSnapshot[] | "no store" | "unreachable"> {
    try {
      const response = await fetch(this.#folder, { cache: "no-store" })
      const isList = response.ok && response.headers.get("content-type")?.startsWith("application/json") === true
      return isList ? ((await response.json()) as StoredSnapshot[]) : "no store"
    } catch {
      return "unreachable"
    }
  }

  urlOf(name: string): string {
    return new URL(name, this.#folder).href
  }

  /** Nothing is signed: the server is this machine's own. */
  sinkOf(databaseId: string): SnapshotSink {
    return presignedPut({ url: this.urlOf(`${databaseId}.sqlite`), needsNetwork: false })
  }
}
