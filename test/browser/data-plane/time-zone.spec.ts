import type { Page } from "@playwright/test"
import { expect, openHarness, test } from "../../fixtures/browser.ts"

const asked = `SELECT datetime(0,'unixepoch') AS utc, datetime(0,'unixepoch','localtime') AS local,
  datetime('2024-03-10 06:59:00','localtime') AS before, datetime('2024-03-10 07:30:00','localtime') AS after,
  datetime('2024-03-10 03:30:00','utc') AS back`

const ask = (page: Page) =>
  page.evaluate(async (asked) => {
    const agentdb = await window.agentdbWeb.openAgentDB({ name: "zone", storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    const outside = await db.query(asked).first()
    const { results } = await db.batch([asked])
    const [part] = results
    const inside = await db.transaction((tx) => tx.query(asked).first())
    await agentdb.close()
    return [outside, part && "rows" in part ? part.rows[0] : undefined, inside]
  }, asked)

const expected = {
  "Asia/Kolkata": {
    utc: "1970-01-01 00:00:00",
    local: "1970-01-01 05:30:00",
    before: "2024-03-10 12:29:00",
    after: "2024-03-10 13:00:00",
    back: "2024-03-09 22:00:00",
  },
  "America/New_York": {
    utc: "1970-01-01 00:00:00",
    local: "1969-12-31 19:00:00",
    before: "2024-03-10 01:59:00",
    after: "2024-03-10 03:30:00",
    back: "2024-03-10 07:30:00",
  },
}

for (const [timezoneId, row] of Object.entries(expected)) {
  test(`C08 local time is that of the browser, across a change of the clocks: ${timezoneId}`, async ({
    browser,
    site,
  }) => {
    const context = await browser.newContext({ timezoneId })
    const page = await openHarness(await context.newPage(), site.plain)
    expect(await ask(page)).toEqual([row, row, row])
    await context.close()
  })
}
