import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { expect, test } from "@playwright/test"
import { inRoot } from "../../tools/paths.mjs"

/** Which rooms each room may import from; standin, sync, adapters and testing do not see gen. */
const arrows: Record<string, string[]> = {
  wire: ["gen"],
  link: ["gen", "wire"],
  client: ["gen", "wire", "link"],
  storage: ["gen", "wire"],
  sqlite: ["gen", "wire", "storage"],
  server: ["gen", "wire", "link", "sqlite", "storage"],
  host: ["gen", "wire", "link", "client", "server", "sqlite", "storage"],
  node: ["gen", "wire", "link", "client", "server", "sqlite", "storage", "conformance"],
  standin: ["client"],
  sync: ["client"],
  adapters: ["client"],
  conformance: ["gen", "wire", "link", "client"],
  testing: ["wire", "link", "client", "host", "node", "standin"],
}
const rooms = ["gen", ...Object.keys(arrows)]
const withoutNode = Object.keys(arrows).filter((room) => room !== "node")

let folder = ""
test.beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentdb-arrows-"))
  await cp(inRoot("biome.json"), join(folder, "biome.json"))
})
test.afterEach(() => rm(folder, { recursive: true }))

interface Diagnostic {
  readonly category: string
  readonly location: { readonly path: string }
}

/** Lints files in a copy of the repository's layout. @returns per file, the rules it breaks */
async function lint(files: Record<string, string>): Promise<Map<string, string[]>> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const args = ["lint", "--vcs-enabled=false", "--reporter=json", "--max-diagnostics=none", "."]
  const output = await new Promise<string>((resolve) => {
    // It exits with 1 where it finds something, which is what it is run for.
    execFile(process.execPath, [inRoot("node_modules/@biomejs/biome/bin/biome"), ...args], { cwd: folder }, (_, out) =>
      resolve(out),
    )
  })
  const broken = new Map<string, string[]>(Object.keys(files).map((path) => [path, []]))
  for (const { category, location } of (JSON.parse(output) as { diagnostics: Diagnostic[] }).diagnostics) {
    broken.get(location.path)?.push(category.replace("lint/", ""))
  }
  return broken
}

const importing = (path: string) => `import { x } from "${path}"\n\nexport const y = x\n`

test("the lint holds every room to its arrows", async () => {
  const files: Record<string, string> = {}
  const expected: Record<string, boolean> = {}
  for (const room of Object.keys(arrows)) {
    for (const other of rooms.filter((name) => name !== room)) {
      for (const path of [`src/${room}/to-${other}.ts`, `src/${room}/deep/to-${other}.ts`]) {
        files[path] = importing(`${path.includes("deep") ? "../" : ""}../${other}/thing.ts`)
        expected[path] = arrows[room]?.includes(other) === false
      }
    }
  }
  const broken = await lint(files)
  const restricted = Object.fromEntries(
    [...broken].map(([path, rules]) => [path, rules.includes("style/noRestrictedImports")]),
  )
  expect(restricted).toEqual(expected)
})

test("no way of importing gets around an arrow", async () => {
  const broken = await lint({
    "src/client/types.ts": 'import type { X } from "../server/thing.ts"\n\nexport type Y = X\n',
    "src/client/again.ts": 'export * from "../sqlite/vfs/thing.ts"\n',
    "src/client/named.ts": 'export { x } from "../host/thing.ts"\n',
    "src/client/lazy.ts": 'export const x = () => import("../storage/thing.ts")\n',
  })
  for (const [path, rules] of broken) expect(rules, path).toContain("style/noRestrictedImports")
})

test("Node stays out of what browsers run, and both out of the pure rooms", async () => {
  const files: Record<string, string> = { "src/node/fine.ts": importing("node:fs") }
  for (const room of withoutNode) files[`src/${room}/node.ts`] = importing("node:fs")
  const pure = ["wire", "link", "client", "server", "conformance"]
  for (const room of pure) {
    files[`src/${room}/dom.ts`] = "export const x = () => document.title\n"
    files[`src/${room}/process.ts`] = "export const x = () => process.pid\n"
  }
  const broken = await lint(files)
  expect(broken.get("src/node/fine.ts")).not.toContain("style/noRestrictedImports")
  for (const room of withoutNode) expect(broken.get(`src/${room}/node.ts`)).toContain("style/noRestrictedImports")
  for (const room of pure) {
    expect(broken.get(`src/${room}/dom.ts`)).toContain("style/noRestrictedGlobals")
    expect(broken.get(`src/${room}/process.ts`)).toContain("style/noRestrictedGlobals")
  }
})

test("of host, the outer rooms see its public type only", async () => {
  const broken = await lint({
    "src/sync/allowed.ts": importing("../host/agentdb.ts"),
    "src/sync/refused.ts": importing("../host/worker.ts"),
  })
  expect(broken.get("src/sync/allowed.ts")).not.toContain("style/noRestrictedImports")
  expect(broken.get("src/sync/refused.ts")).toContain("style/noRestrictedImports")
})
