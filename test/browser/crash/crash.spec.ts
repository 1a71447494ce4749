import { setTimeout as delay } from "node:timers/promises"
import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import { engine } from "../../fixtures/engine-name.ts"
import { Random } from "../../fixtures/random.ts"
import { newTab } from "../tabs/tab.ts"
import { createExtras, createMain, lanesOf, type Moment, moments, start, stop } from "./activities.ts"
import { closeService, expectNothingLeftBehind, openAll } from "./after-kill.ts"
import { deaths, expectRole } from "./deaths.ts"
import { checkDumps, checkExtras, Ledger, Round, removeExtras } from "./ledger.ts"
import { listen } from "./report.ts"

/** Of each death; each round at another moment. */
const rounds = Number(process.env["AGENTDB_CRASH_ROUNDS"] ?? 3)
const seed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000)

test.describe.configure({ mode: "parallel" })

for (const [index, death] of deaths.entries()) {
  test(`C37 after each of ${rounds} deaths at random moments, by ${death.name}, nothing acknowledged is lost`, async ({
    profile,
    site,
  }) => {
    test.skip(
      engine !== "chromium" && death.name.includes("renderer"),
      "which process of this browser is a tab's is not known",
    )
    test.setTimeout(60_000 + rounds * 60_000)
    const random = new Random(seed + index)
    test.info().annotations.push({ type: "seed", description: String(seed) })
    const counts = new Map<Moment, { rounds: number; acknowledged: number; underWay: number; stood: number }>()
    let leader = await newTab(profile, site.plain)
    const ledger = new Ledger(await createMain(leader))
    const order: Moment[] = []

    for (let number = 1; number <= rounds; number++) {
      // Each of them before any comes again.
      if (order.length === 0) order.push(...shuffled(moments, random))
      const moment = order.pop() as Moment
      const what = `round ${number}: ${death.name}, ${moment}, AGENTDB_SEED=${seed}`
      const result = await test.step(what, () => playRound(leader, moment, what))
      leader = result.page
      const count = counts.get(moment) ?? { rounds: 0, acknowledged: 0, underWay: 0, stood: 0 }
      counts.set(moment, {
        rounds: count.rounds + 1,
        acknowledged: count.acknowledged + result.acknowledged,
        underWay: count.underWay + result.underWay,
        stood: count.stood + result.stood,
      })
    }
    for (const [moment, { rounds, acknowledged, underWay, stood }] of counts) {
      console.log(
        `${death.name}, ${moment}: ${rounds} rounds, ${acknowledged} acknowledged and there, ` +
          `${underWay} under way at the death, ${stood} commits of them stood whole`,
      )
    }

    async function playRound(leader: Page, moment: Moment, what: string) {
      const [round, followers] = [new Round(), new Round()]
      const extras =
        moment === "delete"
          ? await createExtras(leader, 16, 100_000, true)
          : moment === "dump" || moment === "restore"
            ? await createExtras(leader, 1, 12_000_000, false)
            : []
      const { databaseId } = ledger
      // It leads from before the follower is there.
      await leader.evaluate(async () => {
        window.db = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
      })
      const follower = death.leavesFollower ? await newTab(profile, site.plain) : undefined
      const die = await death.prepare({ profile, origin: site.plain, leader, follower })
      await listen(leader, round.hear)
      if (follower) {
        await listen(follower, followers.hear)
        const lanes = ledger.lanes(lanesOf("pipelined commits", "follower"))
        await start(follower, { moment: "pipelined commits", databaseId, lanes, ids: [] })
        await expectRole(leader, "leader")
        await expectRole(follower, "follower")
      }
      const lanes = ledger.lanes(lanesOf(moment, "leader"))
      await start(leader, { moment, databaseId, lanes, ids: extras })
      await untilMoment(round, moment, random)
      const survivor = await die()
      if (survivor === leader || survivor === follower) await stop(survivor)
      expect([...round.failures, ...followers.failures], what).toEqual([])

      const acknowledged = ledger.promise([...round.ended, ...followers.ended])
      const found = await openAll(survivor)
      const stood = await ledger.check(survivor, found, what)
      const listed = found.databases.map(({ id }) => id)
      await checkExtras(survivor, found, round, { moment, extras, own: databaseId }, what)
      await expectNothingLeftBehind(survivor, listed, what)
      if (moment === "dump") await checkDumps(survivor, round, what)
      await removeExtras(survivor, databaseId, what)
      await closeService(survivor)
      const page = await newTab(profile, site.plain)
      await survivor.close()
      return { page, acknowledged, underWay: round.unanswered + followers.unanswered, stood }
    }
  })
}

/** Waits for a random instant of the moment. */
async function untilMoment(round: Round, moment: Moment, random: Random): Promise<void> {
  if (moment === "checkpoint") {
    // It follows the commit.
    await round.until("ended", 1 + random.below(2))
    await delay(random.next() * 60)
    return
  }
  const few = { "pipelined commits": 30, create: 12, delete: 6 }[moment as string] ?? 3
  await round.until("begun", few)
  await delay(random.next() * Math.max(round.typicalMs, moment === "pipelined commits" ? 300 : 20))
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
