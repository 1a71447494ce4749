import { build } from "vite"
import { keepLiteral } from "./keep-literal.mjs"
import { inRoot } from "./paths.mjs"

const workerUrl = 'new URL("./worker.js", import.meta.url)'

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
    plugins: [keepLiteral(workerUrl, "__AGENTDB_WORKER_URL__")],
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
