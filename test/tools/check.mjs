import { readFileSync } from "node:fs"
import { ensureInstalled } from "./install.mjs"
import { inRoot } from "./paths.mjs"
import { runModule } from "./run.mjs"

ensureInstalled()
const { checkGenerated } = await import("./check-generated.mjs")
const { checkExports } = await import("./check-exports.mjs")
const { checkPackaging } = await import("./check-packaging.mjs")

/** @type {Record<string, () => boolean | Promise<boolean>>} */
const steps = {
  types: () => runModule("typescript/bin/tsc", ["-p", inRoot()]) === 0,
  "lint, format and room arrows": () => runModule("@biomejs/biome/bin/biome", ["check", "--error-on-warnings"]) === 0,
  "unused files, exports and dependencies": () => runModule("knip/bin/knip.js", ["--no-progress"]) === 0,
  "src/gen is what proto/ generates": checkGenerated,
  "the lock file names no registry": () => !readFileSync(inRoot("package-lock.json"), "utf8").includes('"resolved"'),
  "entries of the package": checkExports,
  "publint and types of the packed package": checkPackaging,
}

const failed = []
for (const [name, step] of Object.entries(steps)) {
  const ok = await step()
  console.log(`${ok ? "ok  " : "FAIL"}  ${name}`)
  if (!ok) failed.push(name)
}
if (failed.length > 0) {
  console.error(`\nnpm run check failed: ${failed.join("; ")}`)
  process.exit(1)
}
