import { readFileSync } from "node:fs"
import { run } from "./run.mjs"

/** Whether this process may install Debian's packages. */
export const canInstallDebian = () => process.getuid?.() === 0 && osId() === "debian"

/** Installs Debian's packages. @param {string[]} names @returns {boolean} */
export function installDebian(...names) {
  const env = { DEBIAN_FRONTEND: "noninteractive" }
  run("apt-get", ["update", "-q"], { env })
  return run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...names], { env }) === 0
}

function osId() {
  try {
    return /^ID="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1]
  } catch {
    return undefined
  }
}
