import { readFile } from "node:fs/promises"
import { expect } from "../fixtures/browser.ts"
import { cells, chat, message, open, outcome, ready, rows, run, say, shot, test } from "./demo-test.ts"

test("the agent stores and recalls before it calls itself ready", async ({ page, demo }, info) => {
  const site = await demo.serve()
  await open(page, site.url)
  await expect(page.locator("[data-fact=storage]")).toContainText("OPFS")
  await expect(page.locator("[data-fact=role]")).toContainText("leader")
  expect(await page.evaluate(async () => (await window.agentdb?.listDatabases())?.databases.length)).toBe(1)
  await expect(await rows(page, "SELECT key FROM agent_state ORDER BY key")).toHaveText(["boots", "last_boot"])
  await expect(await rows(page, "SELECT count(*) FROM chat_item")).toHaveText(["0"])
  await shot(page, info, "ready")
  await site.close()
})

test("what was said is recalled after a reload", async ({ page, demo }, info) => {
  const site = await demo.serve()
  await open(page, site.url)
  await say(page, "My name is Ada")
  await say(page, "I take my tea with oat milk")
  await say(page, "Todo: water the plants")
  await page.reload()
  await ready(page)
  await expect(chat(page)).toContainText("I take my tea with oat milk")
  expect(await say(page, "What did I say about milk in my tea?")).toMatch(
    /Earlier you told me: “I take my tea with oat milk”/,
  )
  expect(await say(page, "Who am I?")).toBe("Earlier you told me: your name is Ada.")
  expect(await say(page, "What's on my list?")).toContain("○ 1. water the plants")
  expect(await say(page, "What do I need in my tea?")).toContain("oat milk")
  await shot(page, info, "recalled")
  await site.close()
})

test("a turn is stored whole: the words, the tool calls, the answer", async ({ page, demo }) => {
  const site = await demo.serve()
  await open(page, site.url)
  expect(await say(page, "What is 12 * (3 + 4)?")).toBe("12 * (3 + 4) = 84")
  expect(await say(page, "calculate 1 / 0")).toBe("That did not work: I can't divide by zero.")
  expect(await say(page, "my favourite colour is green")).toBe("I'll remember that your favourite colour is green.")
  expect(await say(page, "list facts")).toBe("I know 1 fact:\n• favourite colour: green")
  expect(await say(page, "forget my favourite colour")).toBe("Forgotten: your favourite colour.")
  expect(await say(page, "how many messages?")).toBe(
    "You have written 6 messages in 1 session; I called 5 tools and gave 5 answers.",
  )
  await expect(chat(page).locator("[data-type=tool_call] .call")).toHaveText([
    'calculate(expression: "12 * (3 + 4)")',
    'calculate(expression: "1 / 0")',
    'remember(key: "favourite colour", value: "green")',
    "list_facts()",
    'forget(key: "favourite colour")',
    "count_messages()",
  ])
  await expect(await rows(page, "SELECT group_concat(type ORDER BY id) FROM chat_item GROUP BY turn")).toHaveText(
    Array.from({ length: 6 }, () => "user,tool_call,answer"),
  )
  await site.close()
})

test("a turn that fails leaves nothing behind and can be said again", async ({ page, demo }) => {
  const site = await demo.serve()
  await open(page, site.url)
  await run(
    page,
    "CREATE TRIGGER no BEFORE INSERT ON chat_item WHEN new.type = 'answer' BEGIN SELECT raise(ABORT, 'no answers today'); END",
  )
  await message(page).fill("My name is Ada")
  await message(page).press("Enter")
  await expect(chat(page).getByRole("alert")).toContainText("no answers today")
  await expect(await rows(page, "SELECT (SELECT count(*) FROM chat_item) + (SELECT count(*) FROM fact)")).toHaveText([
    "0",
  ])
  await run(page, "DROP TRIGGER no")
  await page.getByRole("button", { name: "Say it again" }).click()
  await expect(chat(page).locator("[data-type=answer]")).toContainText("I'll remember that your name is Ada.")
  await site.close()
})

test("the page goes on working when the server has stopped", async ({ page, demo }) => {
  const site = await demo.serve()
  await open(page, site.url)
  await site.close()
  await expect(page.request.get(site.url)).rejects.toThrow(/ECONNREFUSED/)
  await say(page, "My dog is called Biscuit")
  expect(await say(page, "What did I say about the dog?")).toContain("My dog is called Biscuit")
  await page.getByRole("button", { name: "Create database" }).click()
  await expect(page.locator("tr[data-database]")).toHaveCount(2)
  await expect(await rows(page, "SELECT 6 * 7")).toHaveText(["42"])
})

test("C62 nothing that a database holds is read as markup", async ({ page, demo }, info) => {
  const site = await demo.serve()
  await open(page, site.url)
  const evil = "<img src=x onerror=window.pwned=1>"
  await page.getByLabel("Region").fill("<b>eu</b>")
  await page.getByRole("button", { name: "Create database" }).click()
  await expect(page.locator("tr[data-selected] td").nth(1)).toHaveText("<b>eu</b>")
  await run(page, `CREATE TABLE "${evil}" (c)`)
  await expect(await rows(page, "SELECT name FROM sqlite_schema")).toHaveText([evil])
  const script = "<script>window.pwned=1</script>"
  await run(page, `SELECT '${script}' AS "<b>c</b>", 'javascript:window.pwned=1' AS link`)
  await expect(page.locator(".rows th")).toHaveText(["", "<b>c</b>", "link"])
  await expect(cells(page)).toHaveText([script, "javascript:window.pwned=1"])
  await run(page, `SELECT 9007199254740993, x'00ff', NULL, 'NULL', 1e999, 2.0, 'a'||char(0)||'b', x''`)
  await expect(cells(page)).toHaveCount(8)
  expect(
    await cells(page).evaluateAll((all) =>
      all.map((cell) => [cell.textContent, (cell as HTMLElement).dataset["class"]]),
    ),
  ).toEqual([
    ["9007199254740993", "integer"],
    ["x'00ff'", "blob"],
    ["NULL", "null"],
    ["NULL", "text"],
    ["Infinity", "real"],
    ["2.0", "real"],
    ["a\0b", "text"],
    ["x''", "blob"],
  ])
  await run(page, `SELECT * FROM "${evil}2"`)
  await expect(outcome(page)).toContainText(`no such table: ${evil}2`)
  await expect(outcome(page)).toContainText("SQLITE_ERROR")
  await shot(page, info, "markup")

  // The same through the chat, the tool calls and the frames.
  await page.locator("tr[data-database] input").first().check()
  expect(await say(page, `my name is ${evil}`)).toBe(`I'll remember that your name is ${evil}.`)
  await expect(page.locator(".frames")).toContainText(`${evil}2`)
  await expect(page.locator("main img, main script, main b:not(.who, .request b, .cell-detail b)")).toHaveCount(0)
  expect(await page.evaluate(() => "pwned" in window)).toBe(false)
  await site.close()
})

test("the inspector creates, deletes only when told yes, and shows an expiry come", async ({ page, demo }) => {
  const site = await demo.serve()
  await open(page, site.url)
  await page.getByLabel("Region").fill("eu")
  await page.getByLabel("Time to live in seconds").fill("3600")
  await page.getByRole("button", { name: "Create database" }).click()
  const created = page.locator("tr[data-selected]")
  await expect(created).toContainText("in 60 min")
  const id = (await created.getAttribute("data-database")) ?? ""
  await run(page, "CREATE TABLE t (x)")
  await expect(created.locator("td.number")).toHaveText("1")

  const row = page.locator(`tr[data-database="${id}"]`)
  await row.getByRole("button", { name: /Delete/ }).click()
  await page.getByRole("button", { name: "Keep it" }).click()
  await expect(row).toBeVisible()
  await row.getByRole("button", { name: /Delete/ }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
  await expect(row).toHaveCount(0)
  await expect(page.locator("section[data-panel=sql]")).toContainText("no database selected")
  await expect(page.locator("section[data-panel=snapshots]")).toContainText("no database selected")

  await page.getByLabel("Time to live in seconds").fill("1")
  await page.getByRole("button", { name: "Create database" }).click()
  await expect(page.locator("tr[data-database]")).toHaveCount(2)
  await expect(page.locator("tr[data-database]")).toHaveCount(1, { timeout: 20_000 })
  await site.close()
})

test("a dump is a SQLite file with what the database holds", async ({ page, demo }) => {
  const site = await demo.serve()
  await open(page, site.url)
  await say(page, "My name is Ada")
  const coming = page.waitForEvent("download")
  await page.getByRole("button", { name: /^Dump/ }).click()
  const download = await coming
  expect(download.suggestedFilename()).toMatch(/^DB_\w+-tip\d+\.sqlite$/)
  const bytes = await readFile(await download.path())
  expect(bytes.subarray(0, 16).toString("latin1")).toBe("SQLite format 3\0")
  expect(bytes.includes("My name is Ada")).toBe(true)
  await site.close()
})

test("deleting the agent's own database ends its conversation, and offers a new one", async ({ page, demo }) => {
  const site = await demo.serve()
  await open(page, site.url)
  await say(page, "My name is Ada")
  await page.getByRole("button", { name: /^Delete/ }).click()
  await expect(page.getByRole("dialog")).toContainText("agent's memory")
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
  await expect(page.locator("tr[data-database]")).toHaveCount(0)
  await message(page).fill("Are you there?")
  await message(page).press("Enter")
  await page.getByRole("button", { name: "Start a new conversation" }).click()
  await expect(chat(page)).toContainText("Nothing has been said yet")
  expect(await say(page, "Who am I?")).toBe("You have not told me that yet.")
  await site.close()
})

test("rows stream into a bounded table, and a runaway statement is cancelled", async ({ page, demo }, info) => {
  const site = await demo.serve()
  await open(page, site.url)
  await run(
    page,
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x, -x, x || '' FROM c",
  )
  await expect(outcome(page)).toContainText("100,000 rows")
  await expect(page.locator(".notice")).toContainText("Showing the first")
  await expect(page.locator(".rows tr[data-row='0']")).toBeVisible()
  expect(await page.locator(".rows tr[data-row]").count()).toBeLessThan(200)
  await page.locator(".rows").focus()
  await page.keyboard.press("End")
  await expect(page.locator(".cell-detail .value")).toHaveText(/^\d{5,}$/)
  await expect(page.locator(".frames tr[data-kind=ColumnBatch]")).not.toHaveCount(0)
  const credits = await page.locator(".frames tr[data-kind=ColumnBatch] .credit").allTextContents()
  expect(credits.every((credit) => Number(credit) >= 0)).toBe(true)
  await shot(page, info, "rows")

  await page
    .getByRole("textbox", { name: "SQL" })
    .fill("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c")
  await page.getByRole("button", { name: "Run" }).click()
  await expect(page.locator(".request")).toContainText("Query")
  await page.getByRole("button", { name: "Cancel" }).click()
  await expect(outcome(page)).toContainText("Cancelled")
  await expect(page.locator(".frames tr[data-kind=Cancel]", { hasText: "sql 1" })).toHaveCount(1)
  await expect(await rows(page, "SELECT 1")).toHaveText(["1"])
  await site.close()
})

test("a second tab shares the memory, and goes on when the first one has gone", async ({
  page,
  context,
  demo,
}, info) => {
  const site = await demo.serve()
  await open(page, site.url)
  await say(page, "I take my tea with oat milk")
  const second = await context.newPage()
  await open(second, site.url)
  await expect(second.locator("body")).toContainText("oat milk")
  await shot(second, info, "second-tab")
  await page.close()
  await say(second, "I live by the sea")
  await second.reload()
  await ready(second)
  await expect(second.locator("body")).toContainText("I live by the sea")
  await site.close()
})

for (const [name, viewport, colorScheme] of [
  ["phone", { width: 390, height: 844 }, "light"],
  ["dark", { width: 1280, height: 800 }, "dark"],
] as const) {
  test.describe(() => {
    test.use({ viewport, colorScheme })
    test(`every panel can be reached and nothing overflows: ${name}`, async ({ page, demo }, info) => {
      const site = await demo.serve()
      await open(page, site.url)
      await say(page, "I take my tea with oat milk")
      for (const panel of ["agent", "databases", "sql", "frames", "snapshots"]) {
        const tab = page.locator(`#tabs [data-panel=${panel}]`)
        if (await tab.isVisible()) await tab.click()
        await expect(page.locator(`section[data-panel=${panel}] .body`)).toBeInViewport()
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        expect(overflow).toBe(0)
        await shot(page, info, `${name}-${panel}`)
      }
      await site.close()
    })
  })
}
