import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { cache, inRoot } from "../tools/paths.mjs"
import { run } from "../tools/run.mjs"

/** Out of the way of everything else: what is installed here serves the benchmark alone. */
const folder = join(cache, "bench")
const manifests = ["package.json", "package-lock.json"]

/** Installs the peers where they are not there yet, as the lock file beside this file says. */
export function installPeers() {
  const upToDate = manifests.every(
    (name) =>
      existsSync(join(folder, name)) &&
      readFileSync(join(folder, name), "utf8") === readFileSync(inRoot("test/bench/packages", name), "utf8"),
  )
  if (upToDate && existsSync(join(folder, "node_modules"))) return
  console.log("Installing the peers ...")
  mkdirSync(folder, { recursive: true })
  for (const name of manifests) cpSync(inRoot("test/bench/packages", name), join(folder, name))
  const options = { cwd: folder, shell: process.platform === "win32" }
  // Some say that they want a newer Node than they need in a browser.
  if (run("npm", ["ci", "--no-audit", "--no-fund", "--engine-strict=false", "--loglevel=error"], options) !== 0) {
    throw new Error("the peers could not be installed; see above")
  }
}

/** Finds the peers in their folder. @returns {import("vite").Plugin} */
export function peersPlugin() {
  const names = Object.keys(JSON.parse(readFileSync(inRoot("test/bench/packages/package.json"), "utf8")).dependencies)
  return {
    name: "bench-peers",
    enforce: "pre",
    resolveId(id, importer, options) {
      const isPeer = names.some((name) => id === name || id.startsWith(`${name}/`))
      if (!isPeer || importer?.startsWith(folder)) return undefined
      return this.resolve(id, join(folder, "importer.js"), { ...options, skipSelf: true })
    },
  }
}
