import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "vite"
import { inRoot } from "./paths.mjs"
import { sqliteUrls, wasmUrl } from "./sqlite-urls.mjs"

// One file each, whatever the sources import lazily: a browser's also serves as a SharedWorker and is copied as one.
const oneFile = { codeSplitting: false, minify: true }

/** Bundles the worker of browsers, with sqlite3.wasm beside it. @param {string} outDir */
export async function bundleWorker(outDir) {
  await build({
    ...common,
    build: {
      ...output(outDir),
      lib: { entry: inRoot("src/host/worker.ts"), formats: ["es"], fileName: () => "worker.js" },
      rolldownOptions: { output: oneFile },
    },
  })
  copyWasm(outDir)
}

/**
 * Writes the bundled worker of browsers as text into the module that takes it, with the wasm inside.
 * @param {string} outDir where worker.js is
 */
export function inlineWorker(outDir) {
  const wasm = readFileSync(join(outDir, "sqlite3.wasm")).toString("base64")
  const worker = readFileSync(join(outDir, "worker.js"), "utf8")
  const inlined = worker.replace(wasmUrl, () => `"data:application/wasm;base64,${wasm}"`)
  if (inlined === worker) throw new Error(`worker.js does not say ${wasmUrl}`)
  const target = join(outDir, "worker-source.js")
  if (!existsSync(target)) throw new Error(`${target} is not there: who takes the worker's source now?`)
  writeFileSync(target, `export const workerSource = ${JSON.stringify(inlined)}\n`)
}

/** Bundles the worker of Node, with sqlite3.wasm beside it. @param {string} outDir */
export async function bundleNodeWorker(outDir) {
  await build({
    ...common,
    // Node's own modules stay imports, and only they: SQLite is a dependency of nobody who installs this package.
    ssr: { noExternal: true },
    build: {
      ...output(outDir),
      ssr: inRoot("src/node/worker.ts"),
      rolldownOptions: { output: { ...oneFile, entryFileNames: "worker.js" } },
    },
  })
  copyWasm(outDir)
}

/** @type {import("vite").InlineConfig} */
const common = { configFile: false, root: inRoot(), logLevel: "warn", plugins: [sqliteUrls()] }

/** @param {string} outDir */
const output = (outDir) => ({ target: "es2022", outDir, emptyOutDir: false, copyPublicDir: false })

/** @param {string} outDir */
function copyWasm(outDir) {
  cpSync(inRoot("node_modules/@sqlite.org/sqlite-wasm/dist/sqlite3.wasm"), join(outDir, "sqlite3.wasm"))
}
