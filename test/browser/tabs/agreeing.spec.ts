import { expect, test } from "../../fixtures/browser.ts"
import { engine } from "../../fixtures/engine-name.ts"
import type { Profile } from "../../fixtures/profile.ts"
import { rendererOf } from "../../fixtures/renderer.ts"
import { connectTo, createTable, insert, openingFails, openService, values } from "../host/service-page.ts"
import { newOpenTab, newTab, roleOf, routes, testing } from "./tab.ts"

test("a tab of an older deployment is refused by a code, and may open once the newer ones are gone", async ({
  profile,
  site,
}) => {
  const newer = await newOpenTab(profile, site.plain, "broker", { testing: { generation: 2 } })
  await createTable(newer)
  const older = await newTab(profile, site.plain)
  expect(await openingFails(older, {})).toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining("newer version"),
  })
  // The newer one is none the worse for it.
  await insert(newer, 1)
  expect(await values(newer)).toEqual([1])
  await newer.close()
  expect(await openService(older)).toMatchObject({ role: "leader" })
})

test("a tab of a newer deployment takes over, and the older ones get a code", async ({ profile, site }) => {
  const leader = await newOpenTab(profile, site.plain)
  const id = await createTable(leader)
  await insert(leader, 1)
  const follower = await newOpenTab(profile, site.plain)
  await connectTo(follower, id)
  const newer = await newOpenTab(profile, site.plain, "broker", { testing: { generation: 2 } })
  expect(await roleOf(newer)).toBe("leader")
  await connectTo(newer, id)
  await insert(newer, 2)
  expect(await values(newer)).toEqual([1, 2])
  for (const older of [leader, follower]) {
    const codes = await older.evaluate(async (id) => {
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => "done",
          (error: { code: string }) => error.code,
        )
      return [await codeOf(window.db.getDatabase(id)), await codeOf(window.connection.exec("INSERT INTO t VALUES(9)"))]
    }, id)
    expect(codes[0]).toBe("failed_precondition")
    // Its connection finds no service any more.
    expect(["failed_precondition", "unavailable"]).toContain(codes[1])
    expect(await older.evaluate(() => window.db.status.reason)).toContain("newer version")
    expect(older.workers()).toHaveLength(0)
  }
  expect(await values(newer)).toEqual([1, 2])
  await newer.close()
  // Nobody newer is left: what asks again is served.
  await leader.evaluate((id) => window.db.getDatabase(id), id)
  await insert(leader, 3)
  expect(await values(leader)).toEqual([1, 2, 3])
})

test("the options of the tab that has the files win, and what differs is told", async ({ profile, site }) => {
  const keys = { mine: "a secret", other: "another" }
  const leader = await newOpenTab(profile, site.plain, "broker", { keys, limits: { writeWaitMs: 3_000 } })
  const id = await createTable(leader)
  await insert(leader, 1)
  // One that names no keys takes the owner's.
  const follower = await newTab(profile, site.plain)
  const status = await openService(follower)
  expect(status).toMatchObject({ role: "follower", storage: "opfs" })
  expect(status.reason).toContain("limits.writeWaitMs")
  expect(status.reason).not.toContain("keys")
  expect(status.reason).not.toContain("secret")
  await connectTo(follower, id)
  expect(await values(follower)).toEqual([1])
  const stranger = await newTab(profile, site.plain)
  const strangers = await openService(stranger, { keys: { devkey: "secret" }, storage: "memory" })
  expect(strangers).toMatchObject({ role: "follower", storage: "opfs" })
  expect(strangers.reason).toMatch(/storage.*keys/)
  const code = await stranger.evaluate(
    (id) =>
      window.db.connect(id).then(
        () => "done",
        (error: { code: string }) => error.code,
      ),
    id,
  )
  expect(code).toBe("unauthenticated")
  // The next in the queue goes on with the keys that it took.
  await leader.close()
  expect(await values(follower)).toEqual([1])
})

for (const route of routes) {
  test(`memory is one service of all tabs, and its loss is told, by ${route}`, async ({ profile, site }) => {
    const leader = await newOpenTab(profile, site.plain, route, { storage: "memory" })
    const id = await createTable(leader)
    const follower = await newOpenTab(profile, site.plain, route, { storage: "memory" })
    expect(await follower.evaluate(() => window.db.status)).toMatchObject({ role: "follower", storage: "memory" })
    await connectTo(follower, id)
    await insert(follower, 1)
    const strict = await newTab(profile, site.plain)
    expect(await openingFails(strict, { storage: "opfs", ...testing(route) })).toMatchObject({
      code: "failed_precondition",
    })
    await leader.close()
    await expect.poll(() => roleOf(follower)).toBe("leader")
    expect(await follower.evaluate(() => window.db.status.reason)).toContain("memory")
    const code = await follower.evaluate(
      (id) => window.db.getDatabase(id).catch((error: { code: string }) => error.code),
      id,
    )
    expect(code).toBe("not_found")
  })
}

test("a broker that dies with its tab is made again, and no port goes astray", async ({ profile, site }) => {
  test.skip(engine !== "chromium", "shared workers and the process of a tab are found for Chromium only")
  const leader = await newOpenTab(profile, site.plain)
  const id = await createTable(leader)
  // It runs in the process of the tab that needed it first, which the leader is told by its lock.
  const first = await newOpenTab(profile, site.plain)
  const second = await newOpenTab(profile, site.plain)
  await expect.poll(() => brokers(profile)).toBe(1)
  for (const tab of [first, second]) {
    process.kill(await rendererOf(profile, tab), "SIGKILL")
    const next = await newOpenTab(profile, site.plain)
    await connectTo(next, id)
    await insert(next, 1)
  }
  expect(await values(leader)).toEqual([1, 1])
  await expect.poll(() => brokers(profile)).toBe(1)
})

/** How many shared workers the browser runs. */
async function brokers(profile: Profile): Promise<number> {
  const session = await profile.context.browser()?.newBrowserCDPSession()
  const { targetInfos } = (await session?.send("Target.getTargets", { filter: [{}] })) ?? { targetInfos: [] }
  await session?.detach()
  return targetInfos.filter(({ type }) => type === "shared_worker").length
}

test("where the broker can't be started, tabs meet without it", async ({ profile, site }) => {
  const leader = await newOpenTab(profile, site.plain)
  const id = await createTable(leader)
  const follower = await newTab(profile, site.plain)
  await follower.evaluate(() => {
    // The address leads nowhere, so it never answers.
    const Native = SharedWorker
    window.SharedWorker = class extends Native {
      constructor(_url: string | URL, options?: string | WorkerOptions) {
        super("/nowhere.js", options)
      }
    }
  })
  await openService(follower)
  await connectTo(follower, id)
  await insert(follower, 1)
  expect(await values(leader)).toEqual([1])
  expect(await follower.evaluate(() => window.failures)).toEqual([])
})
