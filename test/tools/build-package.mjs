import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { bundlePage } from "./bundle-page.mjs"
import { bundleNodeWorker, bundleWorker, inlineWorker } from "./bundle-workers.mjs"
import { hashOf } from "./inputs.mjs"
import { cache, inRoot } from "./paths.mjs"
import { runModule } from "./run.mjs"

const inputs = ["src", "package-lock.json", "tsconfig.json", "test/tools"]
const stamp = join(cache, "dist.stamp")

/**
 * Makes dist/: the modules of src/ by tsc, with declarations, and over each
 * worker's entry one bundle of everything that runs there, SQLite included.
 * Does nothing where dist/ is of the same sources already.
 * @param {{ types: "strict" | "warn" }} options whether a type error fails the build or is only shown
 * @returns {Promise<string>} a hash of what it was built from
 */
export async function buildPackage({ types }) {
  const hash = `${hashOf(inputs)} ${types}`
  if (isBuiltFrom(hash)) return hash
  console.log("Building dist/ ...")
  const staging = join(cache, "dist")
  rmSync(staging, { recursive: true, force: true })
  const ok = emitModules(staging)
  if (!ok && types === "strict") throw new Error("src/ has type errors; nothing was built")
  await bundleWorker(join(staging, "host"))
  inlineWorker(join(staging, "host"))
  await bundleNodeWorker(join(staging, "node"))
  await bundlePage(join(staging, "host"))
  rmSync(inRoot("dist"), { recursive: true, force: true })
  renameSync(staging, inRoot("dist"))
  writeFileSync(stamp, hash)
  return hash
}

/** @param {string} hash */
function isBuiltFrom(hash) {
  const built = existsSync(stamp) ? readFileSync(stamp, "utf8") : ""
  return existsSync(inRoot("dist/host/worker.js")) && (built === hash || built === hash.replace("warn", "strict"))
}

/** @param {string} outDir */
function emitModules(outDir) {
  // The one tsconfig.json checks the whole repository; only src/ is emitted, so the rest of it is said here.
  const file = join(cache, "tsconfig.build.json")
  const compilerOptions = {
    noEmit: false,
    rootDir: inRoot("src"),
    outDir,
    declaration: true,
    // What is marked @internal would drag the declarations of the worker's side, and SQLite's, into the entries'.
    stripInternal: true,
    allowJs: false,
    checkJs: false,
    paths: {},
  }
  mkdirSync(cache, { recursive: true })
  writeFileSync(file, JSON.stringify({ extends: inRoot("tsconfig.json"), compilerOptions, include: [inRoot("src")] }))
  return runModule("typescript/bin/tsc", ["-p", file]) === 0
}
