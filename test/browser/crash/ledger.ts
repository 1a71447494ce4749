import type { Page } from "@playwright/test"
import { expect } from "../../fixtures/browser.ts"
import type { Lane, Moment } from "./activities.ts"
import { dumpFiles, expectNothingLeftBehind, type Found, rowsOf } from "./after-kill.ts"
import type { Report } from "./report.ts"

/** What the pages told of one round, kept where no death reaches it. */
export class Round {
  readonly begun: Report[] = []
  readonly ended: Report[] = []
  readonly failures: string[] = []
  readonly #waiting = new Set<() => void>()

  readonly hear = (what: string, details: Report): void => {
    if (what === "begin") this.begun.push({ ...details, at: performance.now() })
    else if (what === "end") this.ended.push({ ...details, at: performance.now() })
    else if (what === "failure") this.failures.push(JSON.stringify(details))
    for (const look of this.#waiting) look()
  }

  /** Waits until so many pieces have begun, or have ended. */
  until(which: "begun" | "ended", count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.failures.length > 0) reject(new Error(this.failures[0]))
        else if (this[which].length < count) return
        else resolve()
        this.#waiting.delete(look)
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** Pieces that had begun and whose end was not told. */
  get unanswered(): number {
    return this.begun.length - this.ended.length
  }

  /** Milliseconds that a piece takes, about. */
  get typicalMs(): number {
    const last = this.ended.at(-1)
    const first = this.begun[this.ended.length - 1]
    return last && first ? Math.max(0, Number(last["at"]) - Number(first["at"])) : 0
  }
}

/** What the database of all rounds must hold. */
export class Ledger {
  readonly databaseId: string
  /** By tip: `lane n`. */
  readonly #promised = new Map<number, string>()
  /** By lane. */
  readonly #newest = new Map<string, number>()

  constructor(databaseId: string) {
    this.databaseId = databaseId
  }

  lanes(names: readonly string[]): Lane[] {
    return names.map((name) => ({ name, last: this.#newest.get(name) ?? 0 }))
  }

  /** Takes what was acknowledged. */
  promise(ended: readonly Report[]): number {
    let count = 0
    for (const { lane, n, tip } of ended) {
      if (lane === undefined) continue
      expect(this.#promised.has(Number(tip)), `tip ${tip} was given twice`).toBe(false)
      this.#promised.set(Number(tip), `${lane} ${n}`)
      this.#newest.set(String(lane), Number(n))
      count++
    }
    return count
  }

  /** Everything acknowledged is there once and whole, and little else. Returns how much stood unacknowledged. */
  async check(page: Page, { databases }: Found, what: string): Promise<number> {
    const own = databases.find(({ id }) => id === this.databaseId)
    expect(own, what).toMatchObject({ integrity: [["ok"]] })
    const commits = await rowsOf(page, this.databaseId, "SELECT lane, n, id FROM commits ORDER BY id")
    // The tables were one commit, and each row is one.
    expect(own?.tip, what).toBe(1 + commits.length)
    const stored = new Map(commits.map(([lane, n, id]) => [Number(id) + 1, `${lane} ${n}`]))
    const broken = [...this.#promised].filter(([tip, commit]) => stored.get(tip) !== commit)
    expect(broken, `acknowledged and not where the acknowledgement said, ${what}`).toEqual([])
    const byLane = new Map<string, number[]>()
    for (const [lane, n] of commits) byLane.set(String(lane), [...(byLane.get(String(lane)) ?? []), Number(n)])
    let beyond = 0
    for (const [lane, numbers] of byLane) {
      // In order, each once, nothing left out.
      expect(numbers, `${lane}, ${what}`).toEqual(Array.from(numbers, (_, i) => i + 1))
      const more = numbers.length - (this.#newest.get(lane) ?? 0)
      // The one whose acknowledgement was on its way may be there too.
      expect([0, 1], `${lane}, ${what}`).toContain(more)
      beyond += more
      this.#newest.set(lane, numbers.length)
    }
    expect(await rowsOf(page, this.databaseId, torn), `torn, ${what}`).toEqual([])
    for (const [tip, commit] of stored) this.#promised.set(tip, commit)
    return beyond
  }
}

/** Commits of which a part is missing or there twice, and parts of no commit. */
const torn = `
  SELECT c.lane, c.n FROM commits c LEFT JOIN (SELECT lane, n, count(*) AS found FROM parts GROUP BY lane, n) USING (lane, n)
    WHERE c.parts <> coalesce(found, 0)
  UNION ALL SELECT lane, n FROM parts WHERE (lane, n) NOT IN (SELECT lane, n FROM commits)
  UNION ALL SELECT lane, n FROM (SELECT lane, n FROM a EXCEPT SELECT lane, n FROM b)
  UNION ALL SELECT lane, n FROM (SELECT lane, n FROM b EXCEPT SELECT lane, n FROM a)
  UNION ALL SELECT lane, n FROM a GROUP BY lane, n HAVING count(*) <> 1
  UNION ALL SELECT lane, n FROM a WHERE (lane, n) NOT IN (SELECT lane, n FROM commits)`

/** The databases beside it after a round: `extras` were there before. */
export async function checkExtras(
  page: Page,
  found: Found,
  round: Round,
  { moment, extras, own }: { moment: Moment; extras: readonly string[]; own: string },
  what: string,
): Promise<void> {
  const listed = found.databases.filter(({ id }) => id !== own)
  const isListed = (id: string) => listed.some((each) => each.id === id)
  const ids = (reports: readonly Report[]) => reports.flatMap(({ id }) => (id === undefined ? [] : [String(id)]))
  const [touched, ended] = [ids(round.begun), ids(round.ended)]
  const created = ended.filter((id) => !extras.includes(id))
  const deleted = ended.filter((id) => extras.includes(id))
  expect(deleted.filter(isListed), `deleted and there, ${what}`).toEqual([])
  const kept = [...created, ...extras.filter((id) => !touched.includes(id))]
  expect(
    kept.filter((id) => !isListed(id)),
    `missing, ${what}`,
  ).toEqual([])
  for (const { id, tip, integrity } of listed) {
    expect(integrity, what).toEqual([["ok"]])
    expect(tip, `the tip of ${id}, ${what}`).toBe(extras.includes(id) ? 2 : moment === "restore" ? 1 : 0)
    if (tip === 0) continue
    const content = await rowsOf(page, id, "SELECT count(*), sum(length(x)) > 0 FROM t")
    expect(content, `the content of ${id}, ${what}`).toEqual([[1, 1]])
  }
  const unknown = listed.filter(({ id }) => !extras.includes(id) && !created.includes(id))
  expect(unknown.length, `nobody asked for, ${what}`).toBeLessThanOrEqual(
    moment === "create" || moment === "restore" ? round.unanswered : 0,
  )
}

/** Erases all but one. */
export async function removeExtras(page: Page, own: string, what: string): Promise<void> {
  await page.evaluate(async (own) => {
    const { databases } = await window.service.listDatabases({ pageSize: 1000 })
    const others = databases.filter(({ databaseId }) => databaseId !== own)
    await Promise.all(others.map(({ databaseId }) => window.service.deleteDatabase(databaseId)))
  }, own)
  await expectNothingLeftBehind(page, [own], what)
}

/** Dumps that were handed out are there and whole. */
export async function checkDumps(page: Page, { begun, ended }: Round, what: string): Promise<void> {
  const { live } = await dumpFiles(page)
  expect(live.length, `dumps, ${what}`).toBeGreaterThanOrEqual(ended.length)
  expect(live.length, `dumps, ${what}`).toBeLessThanOrEqual(begun.length)
  for (const path of live) expect(await missingBytes(page, path), `${path}, ${what}`).toBe(0)
}

/** What a SQLite file's header promises beyond what the file has. */
function missingBytes(page: Page, path: string): Promise<number> {
  return page.evaluate(async (path) => {
    const [name = "", ...folders] = path.slice(1).split("/").reverse()
    let folder = await navigator.storage.getDirectory()
    for (const each of folders.reverse()) folder = await folder.getDirectoryHandle(each)
    const file = await (await folder.getFileHandle(name)).getFile()
    const header = new DataView(await file.slice(0, 100).arrayBuffer())
    return header.getUint16(16) * header.getUint32(28) - file.size
  }, path)
}
