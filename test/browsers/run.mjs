/**
 * Runs the browser specs in Firefox and WebKitGTK, as far as those go: `npm run test:browsers`. Arguments name
 * browsers, and what follows `--` goes to Playwright. Debian's packages are installed where they are missing.
 */
import { spawn, spawnSync } from "node:child_process"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { ensureInstalled } from "../tools/install.mjs"

ensureInstalled()
const { onPath, runs } = await import("../tools/browser.mjs")
const { canInstallDebian, installDebian } = await import("../tools/debian.mjs")
const { cache } = await import("../tools/paths.mjs")
const { runModuleInForeground } = await import("../tools/run.mjs")
const { WebDriverSession } = await import("./webdriver.mjs")

/**
 * @typedef {{ version: string, env: Record<string, string>, end?: () => void }} Found
 * @type {Record<string, { name: string, packages: string[], variable: string, find(): Promise<Found | undefined> }>}
 */
const browsers = {
  firefox: { name: "Firefox", packages: ["firefox-esr"], variable: "AGENTDB_FIREFOX", find: findFirefox },
  webkitgtk: {
    name: "WebKitGTK",
    packages: ["webkit2gtk-driver", "xvfb"],
    variable: "AGENTDB_WEBKIT_DRIVER",
    find: findWebKit,
  },
}

const args = process.argv.slice(2)
const split = args.indexOf("--")
const named = split < 0 ? args : args.slice(0, split)
const rest = split < 0 ? [] : args.slice(split + 1)
const total = { passed: 0, failed: 0, skipped: 0 }
const lines = []
for (const engine of named.length > 0 ? named : Object.keys(browsers)) {
  const { line, counts } = await runIn(engine)
  lines.push(line)
  for (const key of /** @type {const} */ (["passed", "failed", "skipped"])) total[key] += counts[key]
}
console.log(`\n${lines.join("\n")}\n\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exitCode = total.failed > 0 ? 1 : 0

/** @param {string} engine */
async function runIn(engine) {
  const browser = browsers[engine]
  if (!browser) throw new Error(`no browser "${engine}"; there are ${Object.keys(browsers).join(", ")}`)
  const { name, packages, variable } = browser
  let found = await browser.find()
  if (!found && canInstallDebian()) {
    console.log(`${name} is not here; installing Debian's ${packages.join(" and ")} ...`)
    if (installDebian(...packages)) found = await browser.find()
    if (!found) return { line: `${name}: could not be installed`, counts: { passed: 0, failed: 1, skipped: 0 } }
  }
  if (!found) {
    const line = `${name}: skipped, since it is not installed (${packages.join(", ")}) and ${variable} names none`
    return { line, counts: { passed: 0, failed: 0, skipped: 1 } }
  }
  console.log(`\n${name} ${found.version}`)
  const countFile = join(cache, `count-of-${process.pid}-${engine}`)
  Object.assign(process.env, found.env, { AGENTDB_ENGINE: engine, AGENTDB_COUNT_FILE: countFile })
  const config = ["test", "-c", "test/browsers/playwright.config.ts", ...rest]
  const code = await runModuleInForeground("@playwright/test/cli.js", config)
  found.end?.()
  const counts = readCounts(countFile)
  if (code !== 0 && counts.failed === 0) counts.failed = 1
  const line = `${name} ${found.version}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`
  return { line, counts }
}

/** @param {string} file */
function readCounts(file) {
  let text = ""
  try {
    text = readFileSync(file, "utf8")
    rmSync(file)
  } catch {
    // The run ended before it could count.
  }
  const count = (/** @type {string} */ what) => Number(new RegExp(`(\\d+) ${what}`).exec(text)?.[1] ?? 0)
  return { passed: count("passed"), failed: count("failed"), skipped: count("skipped") }
}

/** @returns {Promise<Found | undefined>} */
async function findFirefox() {
  const installed = {
    darwin: ["/Applications/Firefox.app/Contents/MacOS/firefox"],
    win32: [join(process.env.PROGRAMFILES ?? "C:\\Program Files", "Mozilla Firefox\\firefox.exe")],
  }
  const own = installed[/** @type {"darwin" | "win32"} */ (process.platform)] ?? onPath("firefox", "firefox-esr")
  const file = process.env.AGENTDB_FIREFOX ?? own.find(runs)
  return file === undefined ? undefined : { version: versionOf(file), env: { AGENTDB_FIREFOX: file } }
}

/** With a display of its own: the driver's browser opens windows. @returns {Promise<Found | undefined>} */
async function findWebKit() {
  const file = process.env.AGENTDB_WEBKIT_DRIVER ?? onPath("WebKitWebDriver").find((path) => existsSync(path))
  const screen = onPath("Xvfb").find((path) => existsSync(path))
  if (file === undefined || screen === undefined) return undefined
  const server = spawn(screen, ["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"], {
    stdio: ["ignore", "pipe", "ignore"],
  })
  const end = () => void server.kill()
  process.on("exit", end)
  const display = await new Promise((resolve) => server.stdout.once("data", (number) => resolve(String(number).trim())))
  // Its sandbox needs a bus and rights that a container has not.
  const env = { AGENTDB_WEBKIT_DRIVER: file, DISPLAY: `:${display}`, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1" }
  const session = await WebDriverSession.start(file, { ...process.env, ...env })
  await session.end()
  return { version: session.version, env, end }
}

/** @param {string} file */
function versionOf(file) {
  const said = spawnSync(file, ["--version"], { encoding: "utf8", timeout: 20_000 }).stdout ?? ""
  return /\d[\w.]*/.exec(said)?.[0] ?? "of an unknown version"
}
