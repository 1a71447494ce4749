import { createHash } from "node:crypto"
import type { Page } from "@playwright/test"
import type { PushProgress, PushRecord, PushResult, TusOptions } from "../../../src/sync/index.ts"

/** What of a sink travels into a page. */
export type Target =
  | { readonly sink: "presignedPut"; readonly url: string; readonly head?: string; readonly needsNetwork?: boolean }
  | ({ readonly sink: "tus"; readonly endpoint: string } & Pick<TusOptions, "chunkBytes">)

export interface PushingOptions {
  readonly force?: boolean
  readonly whenOnline?: boolean
  readonly attempts?: number
}

export interface Pushed {
  readonly result?: PushResult
  readonly error?: { readonly code: string; readonly name: string; readonly message: string }
  readonly progress: readonly PushProgress[]
}

/** Makes a database with rows of a KiB each; gives its id. */
export function fill(page: Page, rows: number): Promise<string> {
  return page.evaluate(async (rows) => {
    const agentdb = await window.agentdbWeb.openAgentDB()
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, filler)")
    for (let left = rows; left > 0; left -= 5_000) {
      await db.exec(
        `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT ${Math.min(left, 5_000)})
         INSERT INTO t(filler) SELECT randomblob(1000) FROM c`,
      )
    }
    await db.close()
    return databaseId
  }, rows)
}

export function addRow(page: Page, databaseId: string): Promise<void> {
  return page.evaluate(async (databaseId) => {
    const agentdb = await window.agentdbWeb.openAgentDB()
    const db = await agentdb.connect(databaseId)
    await db.exec("INSERT INTO t(filler) VALUES ('more')")
    await db.close()
  }, databaseId)
}

/** How many rows a database has, and whether it is whole. */
export function look(page: Page, databaseId: string): Promise<{ rows: unknown; check: unknown }> {
  return page.evaluate(async (databaseId) => {
    const agentdb = await window.agentdbWeb.openAgentDB()
    const db = await agentdb.connect(databaseId)
    const rows = (await db.query("SELECT count(*) AS n FROM t").first())?.["n"]
    const check = (await db.query("PRAGMA integrity_check").first())?.["integrity_check"]
    await db.close()
    return { rows, check }
  }, databaseId)
}

export function push(page: Page, databaseId: string, target: Target, o: PushingOptions = {}): Promise<Pushed> {
  return page.evaluate(
    async ({ databaseId, target, o }) => {
      const { openAgentDB, sync } = window.agentdbWeb
      const { attempts = 20, ...options } = o
      const retry = { attempts, minDelayMs: 10, maxDelayMs: 50 }
      const progress: PushProgress[] = []
      try {
        const to =
          target.sink === "tus"
            ? sync.tus({ ...target, retry })
            : sync.presignedPut({ ...target, target: "the snapshot", retry })
        const from = await openAgentDB()
        const onProgress = (now: PushProgress) => progress.push(now)
        return { result: await sync.pushSnapshot({ from, databaseId, to, onProgress, ...options }), progress }
      } catch (error) {
        const { code, name, message } = error as InstanceType<typeof window.agentdbWeb.client.AgentDBError>
        return { error: { code, name, message }, progress }
      }
    },
    { databaseId, target, o },
  )
}

export function history(page: Page): Promise<PushRecord[]> {
  return page.evaluate(() => window.agentdbWeb.sync.pushHistory())
}

/** SHA-256 of a dump. */
export function dumpHash(page: Page, databaseId: string): Promise<string> {
  return page.evaluate(async (databaseId) => {
    const agentdb = await window.agentdbWeb.openAgentDB()
    const { downloadUrl } = await agentdb.dumpDatabase(databaseId)
    const bytes = await (await fetch(downloadUrl)).arrayBuffer()
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
    return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  }, databaseId)
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")
