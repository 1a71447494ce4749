import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { cache } from "./paths.mjs"

/**
 * Runs `work` while no other process of this checkout does, so that two test
 * runs in two terminals do not build over each other.
 * @template T @param {() => Promise<T>} work @returns {Promise<T>}
 */
export async function withBuildLock(work) {
  const lock = join(cache, "lock")
  mkdirSync(cache, { recursive: true })
  while (!take(lock)) {
    if (isStale(lock)) rmSync(lock, { force: true })
    else await delay(200)
  }
  try {
    return await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** @param {string} lock */
function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" })
    return true
  } catch {
    return false
  }
}

/** Whether the process that holds the lock is no more. @param {string} lock */
function isStale(lock) {
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0)
    return false
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH"
  }
}
