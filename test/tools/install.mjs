import { readFileSync } from "node:fs"
import { inRoot } from "./paths.mjs"
import { npm } from "./run.mjs"

const oldestNode = [20, 19]

/**
 * Installs the packages of the lock file where they are not there, or where the
 * lock file has changed since. Imports nothing that needs installing.
 */
export function ensureInstalled() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  const [oldMajor = 0, oldMinor = 0] = oldestNode
  if (major < oldMajor || (major === oldMajor && minor < oldMinor)) {
    fail(`Node ${oldestNode.join(".")} or newer is needed; this is ${process.version}.`)
  }
  if (isInstalled()) return
  console.log("Installing packages (npm ci) ...")
  // Everything here is a development tool, so a NODE_ENV of "production" must not leave it out.
  if (npm(["ci", "--include=dev", "--no-audit", "--no-fund"]) !== 0) {
    fail("npm ci failed; see its message above. Is the package registry reachable?")
  }
}

/** npm's own record of what it installed says what the lock file asks for. */
function isInstalled() {
  const wanted = packagesOf("package-lock.json")
  const installed = packagesOf("node_modules/.package-lock.json")
  return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
    if (path === "" || optional || devOptional) return true
    return installed[path]?.version === version
  })
}

/**
 * @param {string} file
 * @returns {Record<string, { version?: string, optional?: boolean, devOptional?: boolean }>}
 */
function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(inRoot(file), "utf8")).packages ?? {}
  } catch {
    return {}
  }
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message)
  process.exit(1)
}
