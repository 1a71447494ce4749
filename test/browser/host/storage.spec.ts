import type { Page } from "@playwright/test"
import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { createTable, insert, openingFails, openService, values } from "./service-page.ts"

/** As a private window of some browsers does. */
async function refuseOpfs(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const refuse = () => Promise.reject(new DOMException("the request was denied", "SecurityError"))
    navigator.storage.getDirectory = refuse
  })
}

test("storage opfs fails where OPFS is refused, and says so", async ({ page, site }) => {
  await refuseOpfs(page)
  await openHarness(page, site.plain)
  const failure = await openingFails(page, { storage: "opfs" })
  expect(failure).toMatchObject({ code: "failed_precondition" })
  expect(failure?.message).toContain("getDirectory")
  expect(failure?.message).toContain("SecurityError")
  await expect.poll(() => page.workers().length).toBe(0)
})

test("storage auto is memory where OPFS is refused, with the reason in status and event", async ({ page, site }) => {
  await refuseOpfs(page)
  await openHarness(page, site.plain)
  const events = await page.evaluate(async () => {
    window.db = await window.agentdbWeb.openAgentDB()
    return new Promise<unknown>((resolve) => {
      window.db.addEventListener("statuschange", (event) => resolve((event as CustomEvent).detail))
    })
  })
  expect(events).toMatchObject({
    storage: "memory",
    persisted: false,
    reason: expect.stringContaining("SecurityError"),
  })
  expect(await page.evaluate(() => window.db.status)).toEqual(events)
  await createTable(page)
  await insert(page, 1)
  expect(await values(page)).toEqual([1])
  // One service a name: this page has it with memory now, which is not what is asked for.
  expect(await openingFails(page, { storage: "opfs" })).toMatchObject({ code: "failed_precondition" })
  expect(await page.evaluate(() => window.db.requestPersistence())).toBe(false)
})

test("storage memory needs no reason, and OPFS stays empty", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const status = await openService(page, { storage: "memory" })
  expect(status).toEqual({ storage: "memory", persisted: false, role: "leader" })
  await createTable(page)
  const names = await page.evaluate(async () => {
    const found: string[] = []
    for await (const name of (await navigator.storage.getDirectory()).keys()) found.push(name)
    return found
  })
  expect(names).toEqual([])
})

test("where OPFS is there, auto takes it and the status has the estimate", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const status = await openService(page)
  expect(status).toMatchObject({ storage: "opfs", role: "leader", persisted: false })
  expect(status.quota).toBeGreaterThan(0)
  expect(status.usage).toBeGreaterThanOrEqual(0)
  expect(status).not.toHaveProperty("reason")
  await expect.poll(() => page.evaluate(() => window.statuses)).toEqual([status])
})

test.describe("an insecure origin", () => {
  test.use({ browserArgs: ["--host-resolver-rules=MAP insecure.test 127.0.0.1"] })

  test("a page of an insecure origin works in memory and says why", async ({ profile, site }) => {
    const page = await profile.context.newPage()
    await openHarness(page, site.plain.replace("127.0.0.1", "insecure.test"))
    expect(await page.evaluate(() => isSecureContext)).toBe(false)
    expect(await openingFails(page, { storage: "opfs" })).toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("secure context"),
    })
    expect(await openService(page)).toMatchObject({
      storage: "memory",
      reason: expect.stringContaining("secure context"),
    })
    await createTable(page)
    await insert(page, 1)
    expect(await values(page)).toEqual([1])
  })
})
