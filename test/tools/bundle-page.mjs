import { build } from "vite"
import { inRoot } from "./paths.mjs"

/** Found by bundlers of our users by these very characters; Vite, which bundles here, must leave them alone. */
const workerUrl = 'new URL("./worker.js", import.meta.url)'
const placeholder = "__AGENTDB_WORKER_URL__"

/**
 * Bundles the package's main entry with all it imports into one module beside
 * the worker: for tools that know `main` and no `exports`, whose packages'
 * subpaths they would not find either.
 * @param {string} outDir where worker.js is
 */
export async function bundlePage(outDir) {
  await build({
    configFile: false,
    root: inRoot(),
    logLevel: "warn",
    plugins: [keepWorkerUrl()],
    build: {
      target: "es2022",
      outDir,
      emptyOutDir: false,
      copyPublicDir: false,
      minify: false,
      lib: { entry: inRoot("src/index.ts"), formats: ["es"], fileName: () => "standalone.js" },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  })
}

/** @returns {import("vite").Plugin} */
function keepWorkerUrl() {
  return {
    name: "keep-worker-url",
    enforce: "pre",
    transform: (code) => (code.includes(workerUrl) ? code.replaceAll(workerUrl, placeholder) : undefined),
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue
        if (!file.code.includes(placeholder)) throw new Error(`${file.fileName} starts no worker by ${workerUrl}`)
        file.code = file.code.replaceAll(placeholder, workerUrl)
      }
    },
  }
}
