import { spawn, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter } from "node:path"
import { inRoot, root } from "./paths.mjs"

/**
 * Runs a program with this terminal and waits for it; no shell, no stdin.
 * @param {string} program @param {string[]} args
 * @param {import("node:child_process").SpawnSyncOptions} [options]
 * @returns {number} its exit code; 1 where it died of a signal or was not found
 */
export function run(program, args, options = {}) {
  const env = { ...process.env, ...options.env, PATH: `${inRoot("node_modules/.bin")}${delimiter}${process.env.PATH}` }
  const { status } = spawnSync(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], ...options, env })
  return status ?? 1
}

/**
 * Runs the JavaScript file of an installed package as long as it takes, and ends it when this process is told to end.
 * @param {string} file below node_modules @param {string[]} args @returns {Promise<number>} its exit code
 */
export function runModuleInForeground(file, args) {
  const child = spawn(process.execPath, [inRoot("node_modules", file), ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  })
  for (const signal of /** @type {const} */ (["SIGTERM", "SIGHUP"])) process.on(signal, () => child.kill(signal))
  // A terminal sends Ctrl-C to both; the child decides when it is done.
  process.on("SIGINT", () => {})
  return new Promise((resolve) => child.on("close", (code) => resolve(code ?? 1)))
}

/** Runs the JavaScript file of an installed package. @param {string} file below node_modules @param {string[]} args */
export const runModule = (file, args) => run(process.execPath, [inRoot("node_modules", file), ...args])

/** Runs npm, by its own file where npm started us, so that no shell is needed. @param {string[]} args */
export function npm(args) {
  const file = process.env.npm_execpath
  if (file?.endsWith(".js") && existsSync(file)) return run(process.execPath, [file, ...args])
  return run("npm", args, { shell: process.platform === "win32" })
}
