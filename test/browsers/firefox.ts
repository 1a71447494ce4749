import type { BrowserContext, Page } from "@playwright/test"
import puppeteer, { type Browser, type BrowserContext as Container } from "puppeteer-core"
import { cannot } from "./cannot.ts"
import { driver, FirefoxPage } from "./firefox-page.ts"

/** Flags that Chromium takes, as preferences of Firefox. */
function preferencesOf(args: readonly string[]): Record<string, string | boolean> {
  // Whether to persist is a question to the person in front of it, which nobody would answer.
  const preferences: Record<string, string | boolean> = {
    "dom.storageManager.prompt.testing": true,
    "dom.storageManager.prompt.testing.allow": true,
  }
  for (const arg of args) {
    const local = /^--host-resolver-rules=MAP (\S+) 127\.0\.0\.1$/.exec(arg)?.[1]
    if (local === undefined) cannot(driver, `it has no flag like ${arg}`)
    preferences["network.dns.localDomains"] = local
  }
  return preferences
}

/** Starts Firefox. @param folder its profile; a new one that goes with it if unset */
export function launchFirefox(folder?: string, args: readonly string[] = []): Promise<Browser> {
  const executablePath = process.env["AGENTDB_FIREFOX"]
  if (!executablePath) throw new Error("AGENTDB_FIREFOX names no Firefox")
  return puppeteer.launch({
    browser: "firefox",
    executablePath,
    headless: true,
    protocolTimeout: 0,
    extraPrefsFirefox: preferencesOf(args),
    ...(folder === undefined ? {} : { userDataDir: folder }),
  })
}

/** What the specs use of Playwright's BrowserContext. */
export class FirefoxContext {
  readonly #browser: Browser
  readonly #container: Container

  private constructor(browser: Browser, container: Container) {
    this.#browser = browser
    this.#container = container
  }

  /** What a person sees who starts the browser. Closing it ends the browser. */
  static whole(browser: Browser): BrowserContext {
    return new FirefoxContext(browser, browser.defaultBrowserContext()) as unknown as BrowserContext
  }

  /** A store of its own, beside others in the same browser. */
  static async fresh(browser: Browser): Promise<BrowserContext> {
    return new FirefoxContext(browser, await browser.createBrowserContext()) as unknown as BrowserContext
  }

  async newPage(): Promise<Page> {
    return FirefoxPage.over(await this.#container.newPage(), this)
  }

  async waitForEvent(event: string): Promise<void> {
    if (event !== "close") cannot(driver, `no "${event}" events`)
    if (this.#browser.connected)
      await new Promise<void>((resolve) => this.#browser.once("disconnected", () => resolve()))
  }

  newCDPSession(): never {
    cannot(driver, "it has no DevTools protocol")
  }

  async close(): Promise<void> {
    if (!this.#browser.connected) return
    if (this.#container === this.#browser.defaultBrowserContext()) await this.#browser.close()
    else await this.#container.close()
  }

  /** The process that all others of the browser descend from. */
  static pidOf(browser: Browser): number {
    const pid = browser.process()?.pid
    if (pid === undefined) throw new Error("the browser has no process")
    return pid
  }
}
