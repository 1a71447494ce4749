import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inRoot } from "./paths.mjs"

/** @typedef {import("../mutants/fault.mjs").Fault} Fault */

const settings = ["package.json", "package-lock.json", "tsconfig.json", "playwright.config.ts"]
const sources = ["src", "test", "demo", "proto", "README.md", ...settings]

/**
 * The faults whose names hold one of `words`, all without any. Ends the process if one of them cannot be made.
 * @param {readonly Fault[]} faults @param {readonly string[]} words
 */
export function chooseFaults(faults, words) {
  const wanted = words.map((word) => word.toLowerCase())
  const chosen = faults.filter(
    ({ name }) => wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word)),
  )
  const broken = chosen.filter((fault) => read(fault.file).split(fault.find).length !== 2)
  for (const { name, file, find } of broken) console.error(`"${name}": ${file} does not hold, exactly once: ${find}`)
  if (broken.length > 0 || chosen.length === 0) {
    console.error(`${broken.length} of ${chosen.length} faults cannot be made: bring test/mutants up to date`)
    process.exit(1)
  }
  return chosen
}

/** A copy of the sources to put faults into, with a build cache of its own. It goes with this process. */
export class MutableCopy {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "agentdb-mutants-"))
    process.on("exit", () => rmSync(this.folder, { recursive: true, force: true }))
    for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.on(signal, () => process.exit(1))
    for (const name of sources) cpSync(inRoot(name), join(this.folder, name), { recursive: true })
    const packages = join(this.folder, "node_modules")
    mkdirSync(packages)
    for (const name of readdirSync(inRoot("node_modules"))) {
      if (name !== ".cache") symlinkSync(inRoot("node_modules", name), join(packages, name))
    }
  }

  /** What `run` gives while the fault is there. @template T @param {Fault} fault @param {() => Promise<T>} run */
  async with({ file, find, put }, run) {
    const path = join(this.folder, file)
    const source = readFileSync(path, "utf8")
    // A function, since a replacement may hold a dollar.
    writeFileSync(
      path,
      source.replace(find, () => put),
    )
    try {
      return await run()
    } finally {
      writeFileSync(path, source)
    }
  }
}

/** @param {string} file */
const read = (file) => readFileSync(inRoot(file), "utf8")
