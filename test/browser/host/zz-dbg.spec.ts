import { test, openHarness } from "../../fixtures/browser.ts"
import { createTable, insert, openService } from "./service-page.ts"
test("timing", async ({ page, site }) => {
  for (let i = 0; i < 4; i++) {
    await openHarness(page, site.plain)
    console.log(JSON.stringify(await page.evaluate(async () => {
      const t0 = performance.now()
      const db = await window.agentdbWeb.openAgentDB()
      const t1 = performance.now()
      const { databaseId } = await db.createDatabase()
      const c = await db.connect(databaseId)
      await c.query("SELECT 1").all()
      const t2 = performance.now()
      await db.close()
      return { open: t1 - t0, first: t2 - t1, close: performance.now() - t2 }
    })))
  }
})
test("bfcache", async ({ profile, site }) => {
  const page = await profile.open(site.plain)
  await page.evaluate(() => addEventListener("pageshow", (e) => { (window as any).shown = e.persisted }))
  await openService(page)
  await createTable(page)
  const cdp = await page.context().newCDPSession(page)
  await cdp.send("Page.enable")
  cdp.on("Page.backForwardCacheNotUsed", (e) => console.log(JSON.stringify(e.notRestoredExplanations?.map((x: any) => [x.reason, x.type]))))
  await page.goto(site.isolated + "/harness.html")
  await page.goBack()
  await page.waitForTimeout(1500)
  console.log(await page.evaluate(() => [(window as any).shown, typeof window.db]))
})
