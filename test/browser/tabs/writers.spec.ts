import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import { engine } from "../../fixtures/engine-name.ts"
import type { Profile } from "../../fixtures/profile.ts"
import { Random } from "../../fixtures/random.ts"
import { rendererOf } from "../../fixtures/renderer.ts"
import { createTable } from "../host/service-page.ts"
import { newOpenTab, type Route, roleOf, routes } from "./tab.ts"

/** The full form makes 20. */
const rounds = Number(process.env["AGENTDB_TAB_ROUNDS"] ?? 3)
const writers = 5
const rowsEach = Number(process.env["AGENTDB_TAB_ROWS"] ?? 1_000)
const killsARound = 3

interface Writer {
  readonly name: string
  readonly page: Page
  readonly pid: number
}

test.skip(engine !== "chromium", "the process of a tab is found for Chromium only")

test(`five tabs write ${rowsEach} rows each while leaders are killed, ${rounds} rounds`, async ({ profile, site }) => {
  test.setTimeout(60_000 + rounds * 120_000)
  const random = new Random(Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000))
  const takeoversMs: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const route = routes[round % 2] as Route
    const kills = await oneRound(profile, site.plain, route, random, takeoversMs, round)
    const sorted = takeoversMs.toSorted((a, b) => a - b)
    console.log(
      `round ${round} of ${rounds} by ${route}: ${kills} leaders killed, ${writers * rowsEach} rows exact; ` +
        `takeover so far: median ${sorted[sorted.length >> 1]?.toFixed(0)} ms, worst ${sorted.at(-1)?.toFixed(0)} ms`,
    )
  }
})

async function oneRound(
  profile: Profile,
  origin: string,
  route: Route,
  random: Random,
  takeoversMs: number[],
  round: number,
): Promise<number> {
  // Another database for each round; this tab reads it at the end and leads nothing meanwhile.
  const reader = await newOpenTab(profile, origin, route)
  const id = await createTable(reader)
  await reader.evaluate(async () => {
    await window.connection.exec("CREATE TABLE rows(writer TEXT, n INTEGER, PRIMARY KEY(writer, n))")
  })
  const open = async (name: string): Promise<Writer> => {
    const page = await newOpenTab(profile, origin, route)
    return { name, page, pid: await rendererOf(profile, page) }
  }
  let all: Writer[] = []
  for (let i = 0; i < writers; i++) all.push(await open(`w${i}`))
  await reader.evaluate(() => window.db.close())
  for (const writer of all) await startWriting(writer, id)

  let killed = 0
  while (killed < killsARound && (await progressOf(all)) < writers * rowsEach) {
    await reader.waitForTimeout(200 + random.below(1_200))
    const leader = await leaderOf(all)
    if (!leader) continue
    const others = all.filter((writer) => writer !== leader)
    const closed = leader.page.waitForEvent("crash").catch(() => {})
    const at = Date.now()
    process.kill(leader.pid, "SIGKILL")
    killed++
    await closed
    await leader.page.close().catch(() => {})
    takeoversMs.push((await lastBack(others, at)) - at)
    // The one that was killed comes back in a new tab and goes on where it was.
    const again = await open(leader.name)
    await startWriting(again, id)
    all = [...others, again]
  }
  for (const { page, name } of all) {
    const failure = await page.evaluate(() => window.writing)
    expect(failure, `${name} in round ${round}`).toBeUndefined()
    expect(await page.evaluate(() => window.failures), name).toEqual([])
  }
  const result = await all[0]?.page.evaluate(async (id) => {
    const connection = await window.db.connect(id)
    const rows = await connection
      .query("SELECT writer, count(*) AS count, sum(n) AS sum FROM rows GROUP BY writer ORDER BY writer")
      .all()
    const { integrity_check } = (await connection.query("PRAGMA integrity_check").first()) ?? {}
    return { rows, integrity_check }
  }, id)
  const sum = (rowsEach * (rowsEach - 1)) / 2
  expect(result?.integrity_check).toBe("ok")
  expect(result?.rows).toEqual(
    all.map(({ name }) => ({ writer: name, count: rowsEach, sum })).sort((a, b) => (a.writer < b.writer ? -1 : 1)),
  )
  for (const { page } of all) await page.close()
  await reader.close()
  return killed
}

/**
 * Writes this writer's rows, one exec each, from where it was. An outcome that is unknown is looked up before the
 * row is written again, as an application would.
 */
async function startWriting({ page, name }: Writer, id: string): Promise<void> {
  await page.evaluate(
    async ({ id, name, rowsEach }) => {
      window.answers = []
      window.written = 0
      const connection = await window.db.connect(id)
      const retry = async <T>(call: () => Promise<T>): Promise<T> => {
        // Every call settles; what is only out of reach for now is tried again.
        for (let attempt = 0; ; attempt++) {
          try {
            return await call()
          } catch (error) {
            const { code } = error as { code?: string }
            if ((code !== "unavailable" && code !== "disconnected") || attempt > 50) throw error
          }
        }
      }
      const newest = () =>
        retry(() => connection.query<{ n: number }>("SELECT count(*) AS n FROM rows WHERE writer = ?", [name]).first())
      const write = async () => {
        let n = (await newest())?.n ?? 0
        // It may have had its last row when it was killed.
        window.written = n
        while (n < rowsEach) {
          try {
            await connection.exec("INSERT INTO rows VALUES(?, ?)", [name, n])
            n++
          } catch (error) {
            const { code } = error as { code?: string }
            if (code !== "disconnected" && code !== "unavailable") throw error
            n = (await newest())?.n ?? n
          }
          window.written = n
          window.answers.push(Date.now())
        }
      }
      window.writing = write().then(
        () => undefined,
        (error: unknown) => String(error),
      )
    },
    { id, name, rowsEach },
  )
}

async function progressOf(all: readonly Writer[]): Promise<number> {
  const counts = await Promise.all(all.map(({ page }) => page.evaluate(() => window.written)))
  return counts.reduce((a, b) => a + b)
}

async function leaderOf(all: readonly Writer[]): Promise<Writer | undefined> {
  for (const writer of all) if ((await roleOf(writer.page)) === "leader") return writer
  return undefined
}

/** When the last of the tabs that are left had an answer again, by the wall clock that all share. */
async function lastBack(tabs: readonly Writer[], at: number): Promise<number> {
  const times = await Promise.all(
    tabs.map(async ({ page }) => {
      const found = await page.waitForFunction(
        // What was under way at the kill may still come from the worker that dies.
        ({ at, rowsEach }) => window.answers.find((time) => time > at + 20) ?? (window.written >= rowsEach && at),
        { at, rowsEach },
      )
      return Number(await found.jsonValue())
    }),
  )
  return Math.max(...times)
}

declare global {
  interface Window {
    answers: number[]
    written: number
    /** Why this tab's writing failed; undefined once all is written. */
    writing: Promise<string | undefined>
  }
}
