import type { Page } from "@playwright/test"
import type { Page as PuppeteerPage, WebWorker } from "puppeteer-core"
import { cannot } from "./cannot.ts"

export const driver = "Firefox over WebDriver BiDi"

// biome-ignore lint/suspicious/noExplicitAny: functions of any kind go to the page as text
type Script = string | ((...args: any[]) => unknown)

/** What the specs use of Playwright's Page, over a tab that puppeteer drives. */
export class FirefoxPage {
  readonly #tab: PuppeteerPage
  readonly #context: unknown

  private constructor(tab: PuppeteerPage, context: unknown) {
    this.#tab = tab
    this.#context = context
  }

  /** Typed as what it stands for; anything that is not here is undefined and fails the test that uses it. */
  static over(tab: PuppeteerPage, context: unknown): Page {
    return new FirefoxPage(tab, context) as unknown as Page
  }

  context(): unknown {
    return this.#context
  }

  url(): string {
    return this.#tab.url()
  }

  evaluate(script: Script, arg?: unknown): Promise<unknown> {
    return this.#tab.evaluate(script, arg)
  }

  evaluateHandle(script: Script, arg?: unknown): Promise<unknown> {
    return this.#tab.evaluateHandle(script, arg)
  }

  addInitScript(script: Script, arg?: unknown): Promise<unknown> {
    return this.#tab.evaluateOnNewDocument(script, arg)
  }

  waitForFunction(script: Script, arg?: unknown): Promise<unknown> {
    return this.#tab.waitForFunction(script, {}, arg)
  }

  // biome-ignore lint/suspicious/noExplicitAny: as Playwright has it
  exposeFunction(name: string, heard: (...args: any[]) => unknown): Promise<void> {
    return this.#tab.exposeFunction(name, heard)
  }

  async goto(url: string): Promise<void> {
    await this.#tab.goto(url)
  }

  async reload(): Promise<void> {
    await this.#tab.reload()
  }

  async goBack(): Promise<void> {
    await this.#tab.goBack()
  }

  workers(): WebWorker[] {
    return this.#tab.workers()
  }

  waitForTimeout(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms))
  }

  close(): Promise<void> {
    return this.#tab.close()
  }

  route(): never {
    cannot(driver, "requests cannot be held")
  }

  waitForEvent(event: string): never {
    cannot(driver, `no "${event}" events`)
  }
}
