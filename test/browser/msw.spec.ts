import { expect, test } from "../fixtures/browser.ts"

test("msw in a page: an agent talks to a service in a worker, at the addresses of its cloud", async ({
  page,
  site,
}) => {
  await page.goto(`${site.plain}/msw.html`)
  await page.waitForFunction(() => window.talkThroughMsw !== undefined)
  expect(await page.evaluate(() => window.talkThroughMsw())).toEqual({
    canceled: "canceled",
    large: 10_000_000,
    rows: ["from the agent", "from the test"],
    magic: "SQLite format 3",
    elsewhere: 200,
    refused: [1003, "frames are binary"],
    code: 1001,
  })
})
