import type { Page } from "@playwright/test"
import { test as base, expect } from "../../fixtures/browser.ts"
import { Desktop } from "../../fixtures/desktop.ts"
import { engine } from "../../fixtures/engine-name.ts"
import { rendererOf } from "../../fixtures/renderer.ts"
import { connectTo, createTable, insert, openService, values } from "../host/service-page.ts"
import { newOpenTab, newTab, roleOf, routes, takenOver, testing } from "./tab.ts"

base.skip(engine !== "chromium", "no other driver freezes tabs")

const test = base.extend<{ desktop: Desktop }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from its pattern
  desktop: async ({}, use) => {
    const desktop = await Desktop.launch()
    await use(desktop)
    await desktop.close()
  },
})

for (const route of routes) {
  test(`C31 a frozen leader has handed over, and goes on without a reload, by ${route}`, async ({ desktop, site }) => {
    const first = await desktop.open(site.plain)
    await openService(first, testing(route))
    const id = await createTable(first)
    await insert(first, 1)
    const second = await desktop.open(site.plain)
    await openService(second, testing(route))
    await connectTo(second, id)
    await desktop.setFrozen(first, true)
    const started = performance.now()
    // A write that meets the freeze on its way has an unknown outcome; a read is asked again.
    expect(await values(second)).toEqual([1])
    await expect.poll(() => roleOf(second)).toBe("leader")
    console.log(`the other tab served ${(performance.now() - started).toFixed(0)} ms after the freeze`)
    await insert(second, 2)
    expect(await values(second)).toEqual([1, 2])
    await desktop.setFrozen(first, false)
    expect(await values(first)).toEqual([1, 2])
    await insert(first, 3)
    expect(await roleOf(first)).toBe("follower")
    expect(await values(second)).toEqual([1, 2, 3])
  })
}

test("a frozen follower holds neither the write turn nor the name", async ({ desktop, site }) => {
  const first = await desktop.open(site.plain)
  await openService(first)
  const id = await createTable(first)
  const second = await desktop.open(site.plain)
  const third = await desktop.open(site.plain)
  for (const tab of [second, third]) {
    await openService(tab)
    await connectTo(tab, id)
  }
  await second.evaluate(async () => {
    const tx = await window.connection.begin()
    await tx.exec("INSERT INTO t VALUES(100)")
  })
  await desktop.setFrozen(second, true)
  await insert(first, 1)
  // It was the next in the queue.
  await first.close()
  await takenOver(third)
  await insert(third, 2)
  expect(await roleOf(third)).toBe("leader")
  await desktop.setFrozen(second, false)
  expect(await values(second)).toEqual([1, 2])
})

test("a tab that comes back finds no empty service in memory in place of its files, and goes on once that is gone", async ({
  desktop,
  site,
}) => {
  const first = await desktop.open(site.plain)
  await openService(first)
  const id = await createTable(first)
  await insert(first, 1)
  await desktop.setFrozen(first, true)
  const second = await desktop.open(site.plain)
  expect(await openService(second, { storage: "memory" })).toMatchObject({ role: "leader", storage: "memory" })
  await desktop.setFrozen(first, false)
  const codeOf = () =>
    first.evaluate(
      (id) =>
        window.db.getDatabase(id).then(
          () => "found",
          ({ code }: { code: string }) => code,
        ),
      id,
    )
  await expect.poll(codeOf).toBe("failed_precondition")
  expect(await first.evaluate(() => window.db.status.reason)).toContain("in memory")
  await second.close()
  await expect.poll(codeOf).toBe("found")
  expect(await values(first)).toEqual([1])
  expect(await first.evaluate(() => window.db.status)).toMatchObject({ role: "leader", storage: "opfs" })
  expect(await first.evaluate(() => window.db.status.reason)).toBeUndefined()
})

test("a tab that is stopped with the files open makes the others say so, and they go on once it is gone", async ({
  profile,
  site,
}) => {
  const first = await newOpenTab(profile, site.plain)
  const id = await createTable(first)
  await insert(first, 1)
  const second = await newOpenTab(profile, site.plain)
  await connectTo(second, id)
  const late = await newTab(profile, site.plain)
  const pid = await rendererOf(profile, first)
  const calls = async (page: Page) =>
    page.evaluate(async (id) => {
      const timed = async (call: Promise<unknown>) => {
        const started = performance.now()
        const code = await call.then(
          () => "done",
          (error: { code: string }) => error.code,
        )
        return { code, ms: performance.now() - started }
      }
      const { db, connection } = window
      return Promise.all([
        timed(connection.exec("INSERT INTO t VALUES(2)")),
        timed(connection.query("SELECT v FROM t").all()),
        timed(db.getDatabase(id)),
      ])
    }, id)
  // No event comes before this one.
  process.kill(pid, "SIGSTOP")
  try {
    const inFlight = await calls(second)
    console.log(
      "in flight as it froze:",
      inFlight.map(({ code, ms }) => `${code} after ${ms.toFixed(0)} ms`).join(", "),
    )
    for (const { code } of inFlight) expect(["disconnected", "unavailable"]).toContain(code)
    expect(inFlight[0]?.code).toBe("disconnected")
    const after = await calls(second)
    console.log("asked later:", after.map(({ code, ms }) => `${code} after ${ms.toFixed(0)} ms`).join(", "))
    for (const { code } of after) expect(code).toBe("unavailable")
    expect(await second.evaluate(() => window.db.status.reason)).toContain("does not answer")
    const refusal = await late.evaluate(() =>
      window.agentdbWeb.openAgentDB().then(
        () => undefined,
        ({ code }: { code: string }) => code,
      ),
    )
    expect(refusal).toBe("unavailable")
  } finally {
    process.kill(pid, "SIGCONT")
  }
  // It thaws, and all are on its worker again.
  await expect.poll(() => second.evaluate(() => window.db.status.reason)).toBeUndefined()
  expect(await roleOf(second)).toBe("follower")
  await insert(second, 3)
  expect(await values(first)).toEqual(expect.arrayContaining([1, 3]))
  // Frozen again, and this time discarded.
  process.kill(pid, "SIGSTOP")
  await second.waitForFunction(() => window.db.status.reason?.includes("does not answer"))
  process.kill(pid, "SIGKILL")
  await expect.poll(() => roleOf(second)).toBe("leader")
  expect(await second.evaluate(() => window.db.status.reason)).toBeUndefined()
  await insert(second, 4)
  expect(await values(second)).toEqual(expect.arrayContaining([1, 3, 4]))
})
