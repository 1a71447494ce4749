import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "./paths.mjs"
import { run, runModule } from "./run.mjs"

/**
 * What publint and Are The Types Wrong say of the package as it would be
 * published. dist/ has to be built.
 */
export function checkPackaging() {
  const folder = mkdtempSync(join(tmpdir(), "agentdb-pack-"))
  try {
    const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder, root]
    if (run("npm", pack, { stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" }) !== 0)
      return false
    const [name = ""] = readdirSync(folder)
    const tarball = join(folder, name)
    // ESM only: a require() of it needs a Node that can, and resolution without `exports` finds `main` alone.
    const attw = [tarball, "--profile", "esm-only", "--format", "ascii", "--quiet"]
    return (
      runModule("publint/src/cli.js", ["--strict", tarball]) === 0 &&
      runModule("@arethetypeswrong/cli/dist/index.js", attw) === 0
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
