import { setTimeout as delay } from "node:timers/promises"
import type { BrowserContext, Page } from "@playwright/test"
import { cannot } from "./cannot.ts"
import { WebDriverSession } from "./webdriver.mjs"

const driver = "WebKitGTK over WebDriver"
/** Longer than any script of a test: the test's own timeout ends it. */
const scriptMs = 300_000

// biome-ignore lint/suspicious/noExplicitAny: functions of any kind go to the page as text
type Script = (...args: any[]) => unknown

/** Runs a function in the page; what goes in and out is JSON. */
const runner = (script: Script) => `
  const [arg, done] = arguments
  Promise.resolve(arg).then(${script}).then(
    (value) => done({ value }),
    (error) => done({ error: String(error?.stack ? error + "\\n" + error.stack : error) }),
  )`

/** What the specs use of Playwright's Page, over the one window of a session. */
class WebKitPage {
  readonly #session: WebDriverSession

  private constructor(session: WebDriverSession) {
    this.#session = session
  }

  static async over(session: WebDriverSession): Promise<Page> {
    await session.command("POST", "/timeouts", { script: scriptMs })
    return new WebKitPage(session) as unknown as Page
  }

  async evaluate(script: Script, arg?: unknown): Promise<unknown> {
    const answer = await this.#session.command("POST", "/execute/async", {
      script: runner(script),
      args: arg === undefined ? [null] : [arg],
    })
    const { value, error } = answer as { value?: unknown; error?: string }
    if (error !== undefined) throw new Error(error)
    return value
  }

  async waitForFunction(script: Script, arg?: unknown): Promise<void> {
    while (!(await this.evaluate(script, arg))) await delay(50)
  }

  async goto(url: string): Promise<void> {
    await this.#session.command("POST", "/url", { url })
  }

  async reload(): Promise<void> {
    await this.#session.command("POST", "/refresh")
  }

  addInitScript(): never {
    cannot(driver, "no script runs before a page's own")
  }

  exposeFunction(): never {
    cannot(driver, "a page cannot call the test")
  }

  evaluateHandle(): never {
    cannot(driver, "values stay in the page only as JSON")
  }

  workers(): never {
    cannot(driver, "a page's workers do not show")
  }
}

/** WebKitGTK with one page: its driver knows no profile on disk. */
export class WebKitContext {
  readonly #session: WebDriverSession

  private constructor(session: WebDriverSession) {
    this.#session = session
  }

  static async launch(): Promise<BrowserContext> {
    const program = process.env["AGENTDB_WEBKIT_DRIVER"]
    if (!program) throw new Error("AGENTDB_WEBKIT_DRIVER names no driver")
    const session = await WebDriverSession.start(program, process.env)
    return new WebKitContext(session) as unknown as BrowserContext
  }

  newPage(): Promise<Page> {
    return WebKitPage.over(this.#session)
  }

  close(): Promise<void> {
    return this.#session.end()
  }
}
