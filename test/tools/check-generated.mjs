import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inRoot } from "./paths.mjs"
import { runModule } from "./run.mjs"

/** Whether generating again, elsewhere, gives src/gen to the byte. */
export function checkGenerated() {
  // buf resolves `out` below the folder given here, so proto/buf.gen.yaml's "../src/gen" lands in it.
  const folder = mkdtempSync(join(tmpdir(), "agentdb-gen-"))
  try {
    const template = inRoot("proto/buf.gen.yaml")
    const args = ["generate", inRoot("proto"), "--template", template, "--output", join(folder, "proto")]
    if (runModule("@bufbuild/buf/bin/buf", args) !== 0) return false
    const fresh = filesOf(join(folder, "src/gen"))
    const kept = filesOf(inRoot("src/gen"))
    const differ = [...new Set([...fresh.keys(), ...kept.keys()])].filter((name) => fresh.get(name) !== kept.get(name))
    if (differ.length > 0) console.error(`src/gen differs in ${differ.join(", ")}; \`npm run gen\` makes it anew`)
    return differ.length === 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} folder @returns {Map<string, string>} */
function filesOf(folder) {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]))
}
