import { readFileSync } from "node:fs"
import { run } from "./run.mjs"

/** Whether this process may install Debian's packages. */
export const canInstallDebian = () => process.getuid?.() === 0 && osId() === "debian"

/** Installs Debian's packages. @param {string[]} names @returns {boolean} */
export function installDebian(...names) {
  const env = { DEBIAN_FRONTEND: "noninteractive" }
  // Another process may be installing something else.
  const apt = (/** @type {string[]} */ ...args) =>
    run("apt-get", ["-q", "-o", "DPkg::Lock::Timeout=120", ...args], { env })
  apt("update")
  return apt("install", "-y", "--no-install-recommends", ...names) === 0
}

function osId() {
  try {
    return /^ID="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1]
  } catch {
    return undefined
  }
}
