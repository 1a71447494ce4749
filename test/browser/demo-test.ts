import type { Locator, Page, TestInfo } from "@playwright/test"
import { test as base, expect } from "../fixtures/browser.ts"
import { buildDemo, type Demo } from "../fixtures/demo-site.ts"

export const test = base.extend<{ quiet: string[] }, { demo: Demo }>({
  demo: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from its pattern
    async ({}, use) => {
      const demo = await buildDemo()
      await use(demo)
      await demo.remove()
    },
    { scope: "worker" },
  ],
  /** What went wrong on the page without a test asking: nothing may. */
  quiet: [
    async ({ page }, use) => {
      const wrong: string[] = []
      page.on("pageerror", (error) => wrong.push(`uncaught: ${error.message}`))
      page.on("dialog", (dialog) => wrong.push(`dialog: ${dialog.message()}`))
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") wrong.push(`console: ${message.text()}`)
      })
      await use(wrong)
      expect(wrong).toEqual([])
    },
    { auto: true },
  ],
})

test.beforeEach(async ({ page }) => {
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy: ${event.effectiveDirective} ${event.blockedURI}`)
    })
  })
})

export async function open(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await ready(page)
}

export async function ready(page: Page): Promise<void> {
  await expect(page.locator("html")).toHaveAttribute("data-agentdb", /ready|failed/, { timeout: 20_000 })
  const reason = await page.locator(".chat [role=alert]").allTextContents()
  expect(reason).toEqual([])
}

export const chat = (page: Page): Locator => page.getByRole("log")
export const message = (page: Page): Locator => page.getByLabel("Message to the agent")
export const outcome = (page: Page): Locator => page.locator(".run-outcome")
export const cells = (page: Page): Locator => page.locator(".rows td[data-column]")

/** Says something and waits for the turn to be stored. @returns the agent's answer */
export async function say(page: Page, text: string): Promise<string> {
  const turns = chat(page).locator(".turn-mark")
  const before = await turns.count()
  await message(page).fill(text)
  await message(page).press("Enter")
  await expect(turns).toHaveCount(before + 1)
  return (await chat(page).locator("[data-type=answer] .text").last().textContent()) ?? ""
}

/** Runs SQL in the inspector to its end. */
export async function run(page: Page, sql: string): Promise<void> {
  await page.getByRole("textbox", { name: "SQL" }).fill(sql)
  await page.getByRole("button", { name: "Run" }).click()
  await expect(page.getByRole("button", { name: "Run" })).toBeEnabled()
}

/** Runs SQL and gives the cells of its result. */
export async function rows(page: Page, sql: string): Promise<Locator> {
  await run(page, sql)
  return cells(page)
}

export async function shot(page: Page, info: TestInfo, name: string): Promise<void> {
  await page.screenshot({ path: info.outputPath(`${name}.png`) })
}
