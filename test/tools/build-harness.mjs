import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { build } from "vite"
import { hashOf } from "./inputs.mjs"
import { cache, inRoot } from "./paths.mjs"

const pages = "test/fixtures/pages"
const dayMs = 86_400_000

/**
 * Bundles the pages that browser tests drive, over dist/ and with a user's default configuration.
 * @param {string} packageHash what dist/ was built from
 * @returns {Promise<string>} a folder that no later build changes, so that a test run in progress keeps its page
 */
export async function buildHarness(packageHash) {
  const folder = join(
    cache,
    `harness-${packageHash.slice(0, 16)}-${hashOf([pages, "test/client-suite", "test/conformance", "test/fixtures/oracle.ts"])}`,
  )
  if (existsSync(folder)) return folder
  const staging = `${folder}.new`
  rmSync(staging, { recursive: true, force: true })
  // One by one: pages that share chunks could not load a second copy of their modules.
  for (const page of htmlFiles()) {
    await build({
      configFile: false,
      root: inRoot(pages),
      logLevel: "warn",
      resolve: {
        alias: [
          { find: /^agentdb-web$/, replacement: inRoot("dist/index.js") },
          // What tools that move no files get for the name of the package.
          { find: /^agentdb-web\/inline$/, replacement: inRoot("dist/inline.js") },
          { find: /^agentdb-web\/msw$/, replacement: inRoot("dist/testing/msw/browser.js") },
          { find: /^agentdb-web\/(client|standin|sync|conformance)$/, replacement: inRoot("dist/$1/index.js") },
        ],
      },
      build: {
        outDir: staging,
        emptyOutDir: false,
        minify: false,
        rolldownOptions: { input: page },
      },
    })
  }
  // msw has its service worker beside the page.
  copyFileSync(inRoot("node_modules/msw/lib/mockServiceWorker.js"), join(staging, "mockServiceWorker.js"))
  renameSync(staging, folder)
  removeOld()
  return folder
}

function htmlFiles() {
  const names = readdirSync(inRoot(pages)).filter((name) => name.endsWith(".html"))
  return names.map((name) => inRoot(pages, name))
}

function removeOld() {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name)
    if (name.startsWith("harness-") && Date.now() - statSync(folder).mtimeMs > dayMs)
      rmSync(folder, { recursive: true })
  }
}
