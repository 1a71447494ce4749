import { spawn } from "node:child_process"
import { createServer } from "node:net"
import { setTimeout as delay } from "node:timers/promises"

/** A session of W3C WebDriver with a driver process of its own. */
export class WebDriverSession {
  /** Of the browser, as the driver tells it. @type {string} */
  version
  #driver
  #url

  /** @param {import("node:child_process").ChildProcess} driver @param {string} url @param {string} version */
  constructor(driver, url, version) {
    this.#driver = driver
    this.#url = url
    this.version = version
  }

  /** @param {string} program the driver @param {NodeJS.ProcessEnv} env */
  static async start(program, env) {
    const port = await freePort()
    const driver = spawn(program, [`--port=${port}`], { env, stdio: "ignore" })
    const base = `http://127.0.0.1:${port}`
    try {
      await untilReady(base, driver)
      const { sessionId, capabilities } = await request("POST", `${base}/session`, { capabilities: {} })
      return new WebDriverSession(driver, `${base}/session/${sessionId}`, String(capabilities.browserVersion))
    } catch (error) {
      driver.kill()
      throw error
    }
  }

  /**
   * A command of the session; throws with what the driver says.
   * @param {"GET" | "POST" | "DELETE"} method @param {string} path with its leading slash @param {object} [body]
   * @returns {Promise<unknown>}
   */
  command(method, path, body) {
    return request(method, this.#url + path, body)
  }

  async end() {
    await request("DELETE", this.#url).catch(() => {})
    this.#driver.kill()
  }
}

/** @param {string} method @param {string} url @param {object} [body] */
async function request(method, url, body) {
  const response = await fetch(url, { method, ...(method === "POST" ? { body: JSON.stringify(body ?? {}) } : {}) })
  const { value } = await response.json()
  if (!response.ok) throw new Error(`${value.error}: ${value.message}`)
  return value
}

/** @param {string} base @param {import("node:child_process").ChildProcess} driver */
async function untilReady(base, driver) {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (driver.exitCode !== null) throw new Error(`the driver ended with ${driver.exitCode}`)
    const status = await request("GET", `${base}/status`).catch(() => undefined)
    if (status?.ready) return
    await delay(100)
  }
  throw new Error("the driver does not answer")
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port")),
      )
    })
  })
}
