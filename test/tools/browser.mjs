import { spawnSync } from "node:child_process"
import { accessSync, constants, existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { canInstallDebian, installDebian } from "./debian.mjs"
import { runModule } from "./run.mjs"

/** Names this variable to force a certain browser. */
const override = "AGENTDB_BROWSER"

/**
 * An installed Chrome or Chromium.
 * @returns {string | undefined} its executable; undefined where Playwright's own download is all there can be
 */
export function findBrowser() {
  const forced = process.env[override]
  if (forced) return forced
  return candidates().find(runs)
}

/** Makes sure that there is a browser, by installing one if need be. @returns {Promise<boolean>} */
export async function ensureBrowser() {
  if (findBrowser() || (await hasPlaywrights())) return true
  if (canInstallDebian()) {
    console.log("No Chrome or Chromium found; installing Debian's package ...")
    installDebian("chromium")
    if (findBrowser()) return true
  }
  console.log("No Chrome or Chromium found; downloading Playwright's ...")
  const withSystemLibraries = process.getuid?.() === 0 && process.platform === "linux" ? ["--with-deps"] : []
  runModule("@playwright/test/cli.js", ["install", ...withSystemLibraries, "chromium"])
  if (await hasPlaywrights()) return true
  console.error(`No browser could be installed. Install Chrome or Chromium, or name one in ${override}.`)
  return false
}

async function hasPlaywrights() {
  const { chromium } = await import("@playwright/test")
  return existsSync(chromium.executablePath())
}

function candidates() {
  switch (process.platform) {
    case "darwin":
      return [
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
      ]
    case "win32":
      return [process.env.PROGRAMFILES, process.env["PROGRAMFILES(X86)"], process.env.LOCALAPPDATA]
        .filter((folder) => folder !== undefined)
        .map((folder) => join(folder, "Google\\Chrome\\Application\\chrome.exe"))
    default: {
      const names = ["google-chrome", "google-chrome-stable", "chromium", "chromium-browser"]
      return onPath(...names)
    }
  }
}

/** Where these programs may be. @param {string[]} names */
export const onPath = (...names) => {
  const folders = (process.env.PATH ?? "").split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name)))
}

/** Ubuntu's `chromium-browser` may be a stub that only tells to install a snap, so asking for the file is not enough. */
export function runs(/** @type {string} */ file) {
  try {
    accessSync(file, constants.X_OK)
  } catch {
    return false
  }
  // Chrome on Windows opens a window when asked for its version.
  if (process.platform === "win32") return true
  return spawnSync(file, ["--version"], { timeout: 20_000 }).status === 0
}
