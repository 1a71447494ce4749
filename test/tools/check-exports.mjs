import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { buildPackage } from "./build-package.mjs"
import { withBuildLock } from "./lock.mjs"
import { inRoot } from "./paths.mjs"

/**
 * Whether everything that package.json promises is in dist/, imports only what a
 * user's installation has, and can be imported where there is no browser (server rendering).
 */
export async function checkExports() {
  try {
    await withBuildLock(() => buildPackage({ types: "strict" }))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return false
  }
  const { exports, main, types, bin, sideEffects, dependencies, peerDependencies } = JSON.parse(
    readFileSync(inRoot("package.json"), "utf8"),
  )
  const promised = new Set([main, types, ...leaves(bin), ...sideEffects, ...leaves(exports)])
  const complaints = [...promised].filter((path) => !existsSync(inRoot(path))).map((path) => `${path} is not there`)
  const installed = Object.keys({ ...dependencies, ...peerDependencies })
  for (const path of [...leaves(exports), ...leaves(bin)]) complaints.push(...foreignImports(inRoot(path), installed))
  for (const entry of Object.keys(exports).filter((name) => !name.endsWith(".json"))) {
    const name = entry.replace(/^\./, "agentdb-web")
    await import(name).catch((error) => complaints.push(`import "${name}" fails in Node: ${error}`))
  }
  for (const complaint of complaints) console.error(complaint)
  return complaints.length === 0
}

/** @param {unknown} node of a package's `exports` or `bin` @returns {string[]} the files it names */
function leaves(node) {
  if (typeof node === "string") return [node]
  return typeof node === "object" && node !== null ? Object.values(node).flatMap(leaves) : []
}

/**
 * What a file of dist/, and all that it imports, takes from packages that are not dependencies.
 * @param {string} entry @param {string[]} dependencies @param {Set<string>} [seen] @returns {string[]}
 */
function foreignImports(entry, dependencies, seen = new Set()) {
  if (seen.has(entry) || !/\.[jt]s$/.test(entry) || !existsSync(entry)) return []
  seen.add(entry)
  const text = readFileSync(entry, "utf8")
  const complaints = []
  for (const [, from = ""] of text.matchAll(/\b(?:from|import)\s*\(?"([^"\n]+)"/g)) {
    if (from.startsWith(".")) {
      // Declarations name the sources of what they declare.
      const file = entry.endsWith(".d.ts") ? from.replace(/\.[jt]s$/, ".d.ts") : from
      complaints.push(...foreignImports(join(dirname(entry), file), dependencies, seen))
    } else if (from.startsWith("node:") && entry.startsWith(inRoot("dist/node"))) {
      // Its own, in the one room that only Node runs.
    } else if (!dependencies.some((name) => from === name || from.startsWith(`${name}/`))) {
      complaints.push(`${relative(inRoot(), entry)} imports ${from}, which is no dependency`)
    }
  }
  return complaints
}
