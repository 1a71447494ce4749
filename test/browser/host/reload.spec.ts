import type { Page } from "@playwright/test"
import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { connectTo, createTable, insert, openService, values } from "./service-page.ts"

async function reload(page: Page): Promise<void> {
  await page.reload()
  await page.waitForFunction(() => window.agentdbWeb !== undefined)
}

for (const kind of ["plain", "isolated", "strict"] as const) {
  test(`data survives a reload on the ${kind} site`, async ({ profile, site }) => {
    const page = await profile.open(site[kind])
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(kind === "isolated")
    expect(await openService(page, { storage: "opfs" })).toMatchObject({ storage: "opfs", role: "leader" })
    const id = await createTable(page)
    await insert(page, 1)
    await reload(page)
    await openService(page)
    await connectTo(page, id)
    expect(await values(page)).toEqual([1])
    await profile.close()
    await profile.launch()
    const later = await profile.open(site[kind])
    await openService(later)
    await connectTo(later, id)
    expect(await values(later)).toEqual([1])
  })
}

test("C67: a page that is reloaded at any moment comes back with every acknowledged row", async ({ profile, site }) => {
  const page = await profile.open(site.plain)
  await openService(page)
  const id = await createTable(page)
  const acknowledged: number[] = []
  await page.exposeFunction("acknowledge", (value: number) => acknowledged.push(value))
  for (let round = 0; round < 20; round++) {
    // Writes on until the reload cuts it off; in every third round the cut falls into the opening.
    const isOpening = round % 3 === 2
    await page.evaluate(
      ({ id, round, isOpening }) => {
        const { acknowledge } = window as unknown as { acknowledge(value: number): Promise<void> }
        const write = async () => {
          const db = isOpening ? await window.agentdbWeb.openAgentDB() : window.db
          const connection = await db.connect(id)
          for (let i = 0; ; i++) {
            await connection.exec("INSERT INTO t VALUES(?)", [round * 10_000 + i])
            await acknowledge(round * 10_000 + i)
          }
        }
        write().catch(() => {})
      },
      { id, round, isOpening },
    )
    await page.waitForTimeout((round * 37) % 300)
    await reload(page)
    if ((round + 1) % 3 === 2) continue
    await openService(page)
  }
  await openService(page)
  await connectTo(page, id)
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(await values(page)).toEqual(expect.arrayContaining(acknowledged))
  const check = await page.evaluate(() => window.connection.query("PRAGMA integrity_check").all())
  expect(check).toEqual([{ integrity_check: "ok" }])
})

test("C67: going away and back finds the data", async ({ profile, site }) => {
  const page = await profile.open(site.plain)
  await openService(page)
  const id = await createTable(page)
  await insert(page, 1)
  await openHarness(page, site.isolated)
  await page.goBack()
  await page.waitForFunction(() => window.agentdbWeb !== undefined)
  await openService(page)
  await connectTo(page, id)
  await insert(page, 2)
  expect(await values(page)).toEqual([1, 2])
})
