import type { Page } from "@playwright/test"
import type { AgentDB, Connection } from "../../../src/index.ts"

declare global {
  interface Window {
    /** Set when the page should begin nothing more. */
    stopped: boolean
    /** Settles once nothing is under way any more. */
    activity: Promise<unknown>
  }
}

/** What a page is at when death comes. */
export const moments = [
  "pipelined commits",
  "single commit",
  "batch",
  "interactive transaction",
  "checkpoint",
  "dump",
  "restore",
  "create",
  "delete",
] as const
export type Moment = (typeof moments)[number]

export interface Lane {
  readonly name: string
  /** Number of its newest commit. */
  readonly last: number
}

export interface Activity {
  readonly moment: Moment
  readonly databaseId: string
  readonly lanes: readonly Lane[]
  /** Databases for dumps, one to restore copies of, or some for deletions. */
  readonly ids: readonly string[]
}

/** Lanes of a page by moment, each with at most one commit under way. Those of a moment share a socket. */
export function lanesOf(moment: Moment, who: string): string[] {
  const count = { "pipelined commits": 12, "single commit": 1, batch: 2, "interactive transaction": 2, checkpoint: 1 }
  const names = Array.from({ length: count[moment as keyof typeof count] ?? 0 }, (_, i) => `${who} ${moment} ${i}`)
  return names
}

/** One row in `commits` a commit, so that its id tells the tip. No constraint keeps a commit from being there twice. */
const schema = [
  "CREATE TABLE commits(id INTEGER PRIMARY KEY, lane TEXT, n INTEGER, parts INTEGER)",
  "CREATE TABLE parts(lane TEXT, n INTEGER, filler)",
  "CREATE TABLE a(lane TEXT, n INTEGER)",
  "CREATE TABLE b(lane TEXT, n INTEGER)",
]

/**
 * Keeps the page at it, with `report("begin")` before and `report("end")` after each piece, until it dies or is
 * stopped. What loses its worker ends with `report("broken")`.
 */
export async function start(page: Page, activity: Activity): Promise<void> {
  await page.evaluate(async ({ moment, databaseId, lanes, ids }) => {
    const agentdb: AgentDB = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const db: Connection = await agentdb.connect(databaseId)
    window.stopped = false

    const copyOf = async (id: string) => {
      const { downloadUrl } = await agentdb.dumpDatabase(id)
      return (await fetch(downloadUrl)).blob()
    }
    const insertCommit = "INSERT INTO commits(lane, n, parts) VALUES (?, ?, ?)"
    const insertPart = "INSERT INTO parts VALUES (?, ?, randomblob(?))"
    const write = async (lane: string, n: number): Promise<{ tip: number }> => {
      const begin = () => window.report("begin", { lane, n })
      if (moment === "pipelined commits") {
        await begin()
        return db.exec(insertCommit, [lane, n, 0])
      }
      if (moment === "batch" || moment === "checkpoint") {
        // A checkpoint follows a commit of more than 4 MiB at once.
        const [count, size] = moment === "batch" ? [1_000, 500] : [10, 500_000]
        const part = { sql: insertPart, params: [lane, n, size] }
        await begin()
        return db.batch([{ sql: insertCommit, params: [lane, n, count] }, ...Array(count).fill(part)])
      }
      if (moment === "interactive transaction") await begin()
      const transaction = await db.begin()
      await transaction.exec("INSERT INTO a VALUES (?, ?)", [lane, n])
      for (let i = 0; i < 10; i++) await transaction.exec(insertPart, [lane, n, 100_000])
      await transaction.exec("INSERT INTO b VALUES (?, ?)", [lane, n])
      await transaction.exec(insertCommit, [lane, n, 10])
      if (moment === "single commit") await begin()
      return transaction.commit()
    }
    const left = [...ids]
    const file = moment === "restore" ? await copyOf(left[0] ?? "") : new Blob()
    const pieces: Record<string, () => Promise<boolean>> = {
      async dump() {
        await window.report("begin", {})
        await agentdb.dumpDatabase(left[0] ?? "")
        await window.report("end", {})
        return true
      },
      async restore() {
        await window.report("begin", {})
        const { databaseId } = await agentdb.restoreDatabase(file, { region: "copy" })
        await window.report("end", { id: databaseId })
        return true
      },
      async create() {
        await window.report("begin", {})
        const { databaseId } = await agentdb.createDatabase({ region: "here" })
        await window.report("end", { id: databaseId })
        return true
      },
      async delete() {
        const id = left.pop()
        if (id === undefined) return false
        await window.report("begin", { id })
        await agentdb.deleteDatabase(id)
        await window.report("end", { id })
        return true
      },
    }
    const ended = (name: string) => (error: { code?: string; message: string }) => {
      // `canceled` too: a worker that is being ended cannot read URLs, by which it would learn of a cancel.
      const isBroken = ["disconnected", "unavailable", "closed", "canceled"].includes(error.code ?? "")
      return window.report(isBroken ? "broken" : "failure", { name, error: `${error.code}: ${error.message}` })
    }
    const runs = lanes.map(async ({ name, last }) => {
      for (let n = last + 1; !window.stopped; n++) {
        const { tip } = await write(name, n)
        await window.report("end", { lane: name, n, tip })
      }
    })
    const piece = pieces[moment]
    const repeat = async () => {
      while (!window.stopped && (await piece?.()));
    }
    if (piece) runs.push(...Array.from({ length: moment === "dump" ? 1 : 2 }, repeat))
    window.activity = Promise.all(runs.map((run) => run.catch(ended(moment))))
  }, activity)
}

/** Ends what survived; rejects if anything stays pending. */
export async function stop(page: Page): Promise<void> {
  await page.evaluate(async () => {
    window.stopped = true
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error("something is pending 40 s after the death")), 40_000)
    })
    await Promise.race([window.activity, late])
  })
}

/** A database for commits. */
export function createMain(page: Page): Promise<string> {
  return page.evaluate(async (schema) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.batch(schema)
    await agentdb.close()
    return databaseId
  }, schema)
}

/** Databases with two commits and one row of `bytes`; each with a dump if asked for. */
export function createExtras(page: Page, count: number, bytes: number, withDump: boolean): Promise<string[]> {
  return page.evaluate(
    async ({ count, bytes, withDump }) => {
      const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      const made = Array.from({ length: count }, async () => {
        const { databaseId } = await agentdb.createDatabase()
        const db = await agentdb.connect(databaseId)
        await db.exec("CREATE TABLE t(x)")
        await db.exec("INSERT INTO t VALUES (randomblob(?))", [bytes])
        await db.close()
        if (withDump) await agentdb.dumpDatabase(databaseId)
        return databaseId
      })
      const ids = await Promise.all(made)
      await agentdb.close()
      return ids
    },
    { count, bytes, withDump },
  )
}
