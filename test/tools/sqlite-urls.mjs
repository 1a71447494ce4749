// Bundlers of our users look for `new URL("...", import.meta.url)` in what they
// are given, and fail on files that are not there. So the worker's bundle holds
// exactly one: our own, of sqlite3.wasm beside it.

import { keepLiteral } from "./keep-literal.mjs"

/** The URL of sqlite-wasm's own, in its builds for browsers and for Node. */
const wasm = 'new URL("sqlite3.wasm", import.meta.url)'
/** What it would load beside that in browsers and we never do, as its own bundle writes them. */
const browsers = [
  'new URL("sqlite3-opfs-async-proxy.js", import.meta.url)',
  'new URL("sqlite3-worker1.mjs", import.meta.url)',
]
export const wasmUrl = 'new URL("./sqlite3.wasm", import.meta.url)'

/** @returns {import("vite").Plugin[]} */
export const sqliteUrls = () => [stripUrls(), keepLiteral(wasmUrl, "__AGENTDB_SQLITE3_WASM_URL__"), checkUrls()]

/** @returns {import("vite").Plugin} */
const stripUrls = () => ({
  name: "strip-urls",
  enforce: "pre",
  transform: (code, id) => (id.includes("/@sqlite.org/sqlite-wasm/") ? stripForeign(code, id) : undefined),
})

/** @returns {import("vite").Plugin} */
const checkUrls = () => ({
  name: "check-urls",
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== "chunk") continue
      const urls = file.code.match(/new URL\(\s*["'`][^)]*import\.meta\.url/g) ?? []
      if (urls.length !== 1)
        throw new Error(`${file.fileName} holds ${urls.length} URLs of files, not just sqlite3.wasm`)
    }
  },
})

/** @param {string} code @param {string} id */
function stripForeign(code, id) {
  let stripped = code
  for (const url of id.endsWith("/node.mjs") ? [wasm] : [wasm, ...browsers]) {
    if (!stripped.includes(url)) throw new Error(`${id} no longer says ${url}: see what it loads now`)
    stripped = stripped.replaceAll(url, 'new URL("unused:")')
  }
  return stripped
}
