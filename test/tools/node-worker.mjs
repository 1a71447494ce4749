import { existsSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { bundleNodeWorker } from "./bundle-workers.mjs"
import { hashOf } from "./inputs.mjs"
import { withBuildLock } from "./lock.mjs"
import { cache } from "./paths.mjs"

/**
 * The worker of Node, of the sources as they are: a thread does not see the test runner's transpiler.
 * @returns {Promise<URL>} a file that no later build changes
 */
export async function nodeWorker() {
  const folder = join(cache, `node-worker-${hashOf(["src", "package-lock.json", "test/tools"])}`)
  const url = pathToFileURL(join(folder, "worker.js"))
  if (existsSync(folder)) return url
  return withBuildLock(async () => {
    if (existsSync(folder)) return url
    const staging = `${folder}.new`
    rmSync(staging, { recursive: true, force: true })
    await bundleNodeWorker(staging)
    renameSync(staging, folder)
    return url
  })
}
