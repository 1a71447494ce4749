import type { Page } from "@playwright/test"
import type { AgentDB, Connection, OpenOptions, Status } from "../../../src/index.ts"

declare global {
  interface Window {
    /** What a test keeps in its page. */
    db: AgentDB
    connection: Connection
    statuses: Status[]
    failures: string[]
    workersMade: Worker[]
  }
}

/** Opens the service in the page as `window.db`. */
export async function openService(page: Page, options: Omit<OpenOptions, "onStatus"> = {}): Promise<Status> {
  return page.evaluate(async (options) => {
    window.statuses = []
    window.db = await window.agentdbWeb.openAgentDB({
      ...options,
      onStatus: (status) => window.statuses.push(status),
    })
    return window.db.status
  }, options)
}

/** A new database with the table `t(v)`, on `window.connection`; gives its id. */
export async function createTable(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const { databaseId } = await window.db.createDatabase()
    window.connection = await window.db.connect(databaseId)
    await window.connection.exec("CREATE TABLE t(v)")
    return databaseId
  })
}

/** Connects `window.connection` to a database. */
export async function connectTo(page: Page, databaseId: string): Promise<void> {
  await page.evaluate(async (databaseId) => {
    window.connection = await window.db.connect(databaseId)
  }, databaseId)
}

export async function insert(page: Page, value: number): Promise<void> {
  await page.evaluate((value) => window.connection.exec("INSERT INTO t VALUES(?)", [value]), value)
}

/** The values of `t`, in order. */
export async function values(page: Page): Promise<unknown[]> {
  return page.evaluate(async () => {
    const rows = await window.connection.query("SELECT v FROM t ORDER BY v").all()
    return rows.map((row) => row["v"])
  })
}

/** What opening the service rejects with; undefined if it opens. */
export async function openingFails(
  page: Page,
  options: OpenOptions,
): Promise<{ code: string; message: string } | undefined> {
  return page.evaluate(async (options) => {
    try {
      await window.agentdbWeb.openAgentDB(options)
      return undefined
    } catch (error) {
      if (!(error instanceof window.agentdbWeb.AgentDBError)) throw error
      return { code: error.code, message: error.message }
    }
  }, options)
}

/** Keeps each Worker that the page makes in `window.workersMade`, and errors nobody caught in `window.failures`. */
export async function recordWorkers(page: Page): Promise<void> {
  await page.addInitScript(() => {
    window.workersMade = []
    window.failures = []
    window.Worker = class extends Worker {
      constructor(url: string | URL, options?: WorkerOptions) {
        super(url, options)
        window.workersMade.push(this)
      }
    }
    addEventListener("unhandledrejection", (event) => window.failures.push(String(event.reason)))
    addEventListener("error", (event) => window.failures.push(event.message))
  })
}
