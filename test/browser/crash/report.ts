import type { Page } from "@playwright/test"

declare global {
  interface Window {
    /** Tells the test's own process, which outlives the browser. Settles once it has been heard there. */
    report(what: string, details: Report): Promise<void>
  }
}

export type Report = Record<string, string | number>

/** Hears what the page says by `window.report`. What has not been heard when the browser dies was not said. */
export async function listen(page: Page, onReport: (what: string, details: Report) => void): Promise<void> {
  await page.exposeFunction("report", onReport)
}
