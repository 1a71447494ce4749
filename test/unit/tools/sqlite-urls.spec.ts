import { expect, test } from "@playwright/test"
import { build, type Plugin } from "vite"
import { sqliteUrls } from "../../tools/sqlite-urls.mjs"

const sqlite = "/node_modules/@sqlite.org/sqlite-wasm/dist/index.mjs"
const itsUrls = ["sqlite3.wasm", "sqlite3-opfs-async-proxy.js", "sqlite3-worker1.mjs"]
const urlCode = (file: string) => `new URL("${file}", import.meta.url)`

/** Bundles modules given as text. @returns the code of the bundle */
async function bundle(files: Record<string, string>): Promise<string> {
  const virtual: Plugin = {
    name: "virtual",
    enforce: "pre",
    resolveId: (id) => (id in files ? id : undefined),
    load: (id) => files[id],
  }
  const result = await build({
    configFile: false,
    logLevel: "silent",
    plugins: [virtual, sqliteUrls()],
    build: { write: false, lib: { entry: "/worker.js", formats: ["es"], fileName: "worker" } },
  })
  const [output] = Array.isArray(result) ? result : [result]
  if (!output || !("output" in output)) throw new Error("no output")
  return output.output[0].code
}

const worker = `import { urls } from "${sqlite}"\nexport const all = [...urls, ${urlCode("./sqlite3.wasm")}]`
const engine = (names: string[]) => `export const urls = [${names.map(urlCode).join(", ")}]`

test("of all URLs of files only our own wasm stays, as bundlers read it", async () => {
  const code = await bundle({ "/worker.js": worker, [sqlite]: engine(itsUrls) })
  expect(code.match(/new URL\([^)]*import\.meta\.url\)/g)).toEqual([urlCode("./sqlite3.wasm")])
  for (const name of itsUrls) expect(code).not.toContain(`"${name}"`)
})

for (const gone of itsUrls) {
  test(`the build fails if sqlite-wasm no longer names ${gone} as it did`, async () => {
    const names = itsUrls.filter((name) => name !== gone)
    await expect(bundle({ "/worker.js": worker, [sqlite]: engine(names) })).rejects.toThrow(gone)
  })
}

test("the build fails on a URL that nobody has thought of", async () => {
  const other = `${worker}\nexport const more = ${urlCode("./other.js")}`
  await expect(bundle({ "/worker.js": other, [sqlite]: engine(itsUrls), "/other.js": "" })).rejects.toThrow()
})
