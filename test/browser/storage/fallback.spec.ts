import type { Page } from "@playwright/test"
import { expect, openHarness, test } from "../../fixtures/browser.ts"

interface Seen {
  readonly rows: number
  readonly storage: string
  readonly reason: string | undefined
  readonly told: (string | undefined)[]
  readonly uncaught: number
}

/** Opens the service, the one database made if there is none, counts its rows, and adds one. */
function visit(place: Page): Promise<Seen> {
  return place.evaluate(async () => {
    let uncaught = 0
    addEventListener("unhandledrejection", () => uncaught++)
    const told: (string | undefined)[] = []
    const db = await window.agentdbWeb.openAgentDB({ onStatus: ({ reason }) => told.push(reason) })
    const [known] = (await db.listDatabases()).databases
    const { databaseId } = known ?? (await db.createDatabase())
    const connection = await db.connect(databaseId)
    await connection.exec("CREATE TABLE IF NOT EXISTS t(x)")
    const found = await connection.query<{ n: number }>("SELECT count(*) AS n FROM t").first()
    await connection.exec("INSERT INTO t VALUES(1)")
    const { storage, reason } = db.status
    await db.close()
    return { rows: found?.n ?? -1, storage, reason, told, uncaught }
  })
}

async function reload(page: Page): Promise<void> {
  await page.reload()
  await page.waitForFunction(() => window.agentdbWeb !== undefined)
}

test("C36: without COOP and COEP the rows are there after a reload", async ({ profile, site }) => {
  const page = await openHarness(await profile.context.newPage(), site.plain)
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false)
  expect(await visit(page)).toMatchObject({ rows: 0, storage: "opfs", uncaught: 0 })
  await reload(page)
  expect(await visit(page)).toMatchObject({ rows: 1, storage: "opfs" })
})

test.describe("over plain http on a name of the local network", () => {
  test.use({ browserArgs: ["--host-resolver-rules=MAP machine.lan 127.0.0.1"] })

  test("C36: it is memory, and status and event say so each time", async ({ profile, site }) => {
    const page = await openHarness(await profile.context.newPage(), site.plain.replace("127.0.0.1", "machine.lan"))
    for (let i = 0; i < 2; i++) {
      const seen = await visit(page)
      expect(seen).toMatchObject({ rows: 0, storage: "memory", uncaught: 0 })
      expect(seen.reason).toContain("secure context")
      expect(seen.told).toContain(seen.reason)
      await reload(page)
    }
  })
})

test("C35: OPFS that is refused, as in private windows, is memory that says so, and nothing is uncaught", async ({
  page,
  site,
}) => {
  await page.addInitScript(() => {
    const refuse = () => Promise.reject(new DOMException("denied", "SecurityError"))
    navigator.storage.getDirectory = refuse
  })
  await openHarness(page, site.plain)
  const seen = await visit(page)
  expect(seen).toMatchObject({ rows: 0, storage: "memory", uncaught: 0 })
  expect(seen.told).toContain(seen.reason)
})

test("services that open at the same time do not take each other's storage for missing", async ({ profile, site }) => {
  const page = await profile.open(site.plain)
  for (let round = 0; round < 3; round++) {
    const kinds = await page.evaluate(async (round) => {
      const names = Array.from({ length: 8 }, (_, i) => `agent ${round} ${i}`)
      const services = await Promise.all(names.map((name) => window.agentdbWeb.openAgentDB({ name })))
      const kinds = services.map(({ status }) => status.storage)
      await Promise.all(services.map((service) => service.close()))
      return kinds
    }, round)
    expect(kinds).toEqual(Array(8).fill("opfs"))
  }
})
