import { createHash } from "node:crypto"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { inRoot } from "./paths.mjs"

/**
 * A hash of the content of files and folders, by which a build knows that it is still good.
 * @param {string[]} paths below the top folder; one that does not exist counts as empty
 */
export function hashOf(paths) {
  const hash = createHash("sha256").update(process.version)
  for (const path of paths) addTo(hash, path)
  return hash.digest("hex").slice(0, 16)
}

/** @param {import("node:crypto").Hash} hash @param {string} path */
function addTo(hash, path) {
  const stat = statSync(inRoot(path), { throwIfNoEntry: false })
  if (!stat) return
  if (!stat.isDirectory()) {
    hash.update(`${path}\0`).update(readFileSync(inRoot(path)))
    return
  }
  for (const name of readdirSync(inRoot(path)).sort()) addTo(hash, `${path}/${name}`)
}
