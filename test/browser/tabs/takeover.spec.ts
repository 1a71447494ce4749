import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import { rendererOf } from "../../fixtures/renderer.ts"
import { connectTo, createTable, insert, values } from "../host/service-page.ts"
import { newOpenTab, roleOf, routes, takenOver } from "./tab.ts"

/** Ways for a leader to go. */
const ends = {
  "closes its handle": (page: Page) => page.evaluate(() => window.db.close()),
  "closes its tab": (page: Page) => page.close(),
  "goes to another page": (page: Page) => page.goto("about:blank").then(() => {}),
}

for (const route of routes) {
  for (const [how, end] of Object.entries(ends)) {
    test(`when the leader ${how} the next tab serves, by ${route}`, async ({ profile, site }) => {
      const first = await newOpenTab(profile, site.plain, route)
      const id = await createTable(first)
      await insert(first, 1)
      const second = await newOpenTab(profile, site.plain, route)
      const third = await newOpenTab(profile, site.plain, route)
      for (const tab of [second, third]) await connectTo(tab, id)
      await third.evaluate((id) => {
        window.tips = []
        window.db.watch(id, (tip) => window.tips.push(tip))
      }, id)
      await end(first)
      await takenOver(second, third)
      await insert(second, 2)
      await insert(third, 3)
      expect(await values(second)).toEqual([1, 2, 3])
      expect(await values(third)).toEqual([1, 2, 3])
      expect([await roleOf(second), await roleOf(third)].sort()).toEqual(["follower", "leader"])
      await expect.poll(() => third.evaluate(() => window.tips.at(-1))).toBe(4)
      const tips = await third.evaluate(() => window.tips)
      expect(tips).toEqual([...new Set(tips)].sort((a, b) => a - b))
      for (const tab of [second, third]) {
        expect(await tab.evaluate(() => window.failures)).toEqual([])
        expect(await tab.evaluate(() => window.db.status.reason)).toBeUndefined()
      }
    })
  }

  test(`a tab that asked for memory takes over from OPFS with all data, by ${route}`, async ({ profile, site }) => {
    const first = await newOpenTab(profile, site.plain, route, { storage: "opfs" })
    const id = await createTable(first)
    await insert(first, 1)
    const second = await newOpenTab(profile, site.plain, route, { storage: "memory" })
    await connectTo(second, id)
    await first.close()
    await takenOver(second)
    await insert(second, 2)
    expect(await values(second)).toEqual([1, 2])
    expect(await second.evaluate(() => window.db.status)).toMatchObject({ role: "leader", storage: "opfs" })
  })

  test(`a tab that asks for OPFS is refused while another has the name in memory, by ${route}`, async ({
    profile,
    site,
  }) => {
    await newOpenTab(profile, site.plain, route, { storage: "memory" })
    const second = newOpenTab(profile, site.plain, route, { storage: "opfs" })
    await expect(second).rejects.toThrow(/storage "opfs" is not available: .* other options/)
  })

  test(`when the leader's process is killed, calls in flight end by the rules, by ${route}`, async ({
    profile,
    site,
  }) => {
    const first = await newOpenTab(profile, site.plain, route)
    const id = await createTable(first)
    await insert(first, 1)
    const second = await newOpenTab(profile, site.plain, route)
    await connectTo(second, id)
    const pid = await rendererOf(profile, first)
    expect(await rendererOf(profile, second)).not.toBe(pid)
    await second.evaluate(() => {
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => "done",
          (error: { code: string }) => error.code,
        )
      window.outcomes = (async () => {
        const tx = await window.connection.begin()
        await tx.exec("INSERT INTO t VALUES(100)")
        // Another write waits for the turn, and is in flight when the kill comes.
        const write = codeOf(window.connection.batch(["INSERT INTO t VALUES(101)"]))
        const link = await window.db.openLink()
        const closed = new Promise<number>((resolve) => {
          link.onclose = ({ code }) => resolve(code)
          link.onframe = () => {}
        })
        window.ready = true
        const close = await closed
        const read = await window.connection.query("SELECT count(*) AS n FROM t").first()
        return { write: await write, commit: await codeOf(tx.commit()), close, read }
      })()
    })
    await second.waitForFunction(() => window.ready)
    process.kill(pid, "SIGKILL")
    expect(await second.evaluate(() => window.outcomes)).toEqual({
      write: "disconnected",
      commit: "disconnected",
      close: expect.any(Number),
      read: { n: 1 },
    })
    // As after a handover or a cut, and not as if a statement had been the cause.
    expect([1001, 1006]).toContain((await second.evaluate(() => window.outcomes)).close)
    expect(await roleOf(second)).toBe("leader")
    await insert(second, 2)
    expect(await values(second)).toEqual([1, 2])
  })

  test(`a worker that dies under a living leader is started there again, by ${route}`, async ({ profile, site }) => {
    const first = await newOpenTab(profile, site.plain, route)
    const id = await createTable(first)
    const second = await newOpenTab(profile, site.plain, route)
    await connectTo(second, id)
    const closing = second.evaluate(async () => {
      const link = await window.db.openLink()
      window.ready = true
      return new Promise<number>((resolve) => {
        link.onclose = ({ code }) => resolve(code)
        link.onframe = () => {}
      })
    })
    await second.waitForFunction(() => window.ready)
    await first.evaluate(() => window.workersMade[0]?.terminate())
    // It may have died of what this tab asked of it.
    expect(await closing).toBe(1011)
    await insert(second, 1)
    expect([await roleOf(first), await roleOf(second)]).toEqual(["leader", "follower"])
    expect(await values(second)).toEqual([1])
  })
}

test("a read under which one leader after the other dies is not asked of every tab", async ({ profile, site }) => {
  const leaders = []
  for (let i = 0; i < 4; i++) leaders.push(await newOpenTab(profile, site.plain))
  const [first, , , last] = leaders
  if (!first || !last) throw new Error("there are four tabs")
  const id = await createTable(first)
  const asker = await newOpenTab(profile, site.plain)
  await asker.evaluate(async (id) => {
    const { db } = window
    window.asked = 0
    const openLink = db.openLink.bind(db)
    db.openLink = async () => {
      const link = await openLink()
      const send = link.send.bind(link)
      link.send = (frame) => {
        if (new TextDecoder().decode(frame).includes("the last straw")) window.asked++
        send(frame)
      }
      return link
    }
    window.connection = await db.connect(id)
    const endless =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 'the last straw', count(*) FROM c"
    window.code = window.connection
      .query(endless)
      .all()
      .then(
        () => "rows",
        ({ code }: { code: string }) => code,
      )
  }, id)
  for (const [death, leader] of leaders.slice(0, 3).entries()) {
    await asker.waitForFunction((asked) => window.asked === asked, death + 1)
    expect(await roleOf(leader)).toBe("leader")
    process.kill(await rendererOf(profile, leader), "SIGKILL")
  }
  expect(await asker.evaluate(() => window.code)).toBe("disconnected")
  expect(await asker.evaluate(() => window.asked)).toBe(3)
  await connectTo(last, id)
  await takenOver(last, asker)
  await insert(asker, 1)
  expect(await values(last)).toEqual([1])
})

declare global {
  interface Window {
    asked: number
    code: Promise<string>
    tips: number[]
    ready: boolean
    outcomes: Promise<{ close: number }>
  }
}
