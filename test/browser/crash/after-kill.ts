import type { Page } from "@playwright/test"
import type { AgentDB } from "../../../src/index.ts"
import { expect, opfsTree } from "../../fixtures/browser.ts"

declare global {
  interface Window {
    /** The service, from `openAll` until `closeService`. */
    service: AgentDB
  }
}

const root = "/agentdb"
const project = `${root}/devkey`
const databaseFiles = ["data.sqlite", "data.sqlite-wal", "meta"]

export interface Found {
  /** Milliseconds from opening the service until the first rows of the first database. */
  readonly openMs: number
  /** All that are listed. */
  readonly databases: { id: string; tip: number; integrity: unknown }[]
}

/** Opens the service, and every database that it lists. */
export function openAll(page: Page): Promise<Found> {
  return page.evaluate(async () => {
    const started = performance.now()
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    window.service = agentdb
    const databases: Found["databases"] = []
    let openMs: number | undefined
    for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
      const listed = await agentdb.listDatabases({ pageToken })
      for (const { databaseId } of listed.databases) {
        const db = await agentdb.connect(databaseId)
        await db.query("SELECT count(*) FROM sqlite_schema").first()
        openMs ??= performance.now() - started
        const integrity = await db.query("PRAGMA integrity_check", [], { rowMode: "array" }).all()
        const { tip } = await agentdb.getDatabase(databaseId)
        await db.close()
        databases.push({ id: databaseId, tip, integrity })
      }
      pageToken = listed.nextPageToken || undefined
    }
    return { openMs: openMs ?? performance.now() - started, databases }
  })
}

/** Rows of a database as arrays. */
export function rowsOf(page: Page, databaseId: string, sql: string): Promise<unknown[][]> {
  return page.evaluate(
    async ([id, sql]) => {
      const db = await window.service.connect(id)
      const rows = await db.query<unknown[]>(sql, [], { rowMode: "array" }).all()
      await db.close()
      return rows
    },
    [databaseId, sql] as const,
  )
}

export const closeService = (page: Page): Promise<void> => page.evaluate(() => window.service.close())

/** Folders of databases, empty ones too. */
function databaseFolders(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const names: string[] = []
    try {
      const root = await navigator.storage.getDirectory()
      const project = await (await root.getDirectoryHandle("agentdb")).getDirectoryHandle("devkey")
      for await (const name of project.keys()) names.push(name)
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "NotFoundError")) throw error
    }
    return names
  })
}

/** Files of dumps, by whether they may stay until they expire. */
export async function dumpFiles(page: Page): Promise<{ live: string[]; unfinished: string[] }> {
  const names = (await opfsTree(page)).map(({ path }) => path).filter((path) => path.includes("dump-"))
  const nowSeconds = Date.now() / 1000
  const isLive = (path: string) => Number(/\/dump-dump-(\d+)-[^/]*$/.exec(path)?.[1] ?? 0) > nowSeconds
  return { live: names.filter(isLive), unfinished: names.filter((path) => path.includes("/unfinished-")) }
}

/** What does not belong to the listed databases, and what of theirs is missing. */
async function faults(page: Page, listed: readonly string[]): Promise<string[]> {
  const own = new Set(listed.flatMap((id) => databaseFiles.map((file) => `${project}/${id}/${file}`)))
  const known = new Set(listed)
  const dumps = new Set((await dumpFiles(page)).live)
  const tree = (await opfsTree(page)).map(({ path }) => path)
  const isExpected = (path: string) =>
    own.has(path) ||
    path === `${root}/format` ||
    /^\/agentdb\/\.scratch\/scratch-\d$/.test(path) ||
    (dumps.has(path) && known.has(path.split("/")[3] ?? ""))
  return [
    ...tree.filter((path) => !isExpected(path)).map((path) => `left behind: ${path}`),
    ...(await databaseFolders(page)).filter((id) => !known.has(id)).map((id) => `left behind: ${project}/${id}`),
    ...[...own].filter((path) => !tree.includes(path)).map((path) => `missing: ${path}`),
  ]
}

/** The service sweeps in the background, so what a kill left may be there for a moment. */
export async function expectNothingLeftBehind(page: Page, listed: readonly string[], what: string): Promise<void> {
  await expect.poll(() => faults(page, listed), { message: what, timeout: 10_000 }).toEqual([])
}
