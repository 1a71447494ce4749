import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ensureInstalled } from "../tools/install.mjs"
import { cache, inRoot } from "../tools/paths.mjs"
import { goals } from "./goals.mjs"
import { installPeers, peersPlugin } from "./packages.mjs"

// This package beside its peers, one page of a fresh profile on disk for each peer and round, in turn. Ratios travel;
// milliseconds do not.
const quick = process.argv.includes("--quick")
const only = process.argv.find((arg) => arg.startsWith("--only="))?.slice("--only=".length)
const rounds = Number(process.env.ROUNDS ?? (quick ? 3 : 5))
const sizes = { scanRows: 200_000, scalarRows: 500_000, slowRows: 1_000_000 }
/** What `--quick` runs, and what "best OPFS peer" may be: SQLite on OPFS whose commits are flushed. */
const quickPeers = [
  "agentdb-web",
  "floor",
  "sqlite-wasm behind Comlink",
  "wa-sqlite AccessHandlePool",
  "wa-sqlite OPFSWriteAhead",
]
const opfsPeers = [
  "sqlite-wasm behind Comlink",
  "sqlite-wasm Worker1 promiser",
  "wa-sqlite AccessHandlePool",
  "wa-sqlite OPFSWriteAhead",
  "sqlocal",
  "@powersync/web",
]

ensureInstalled()
installPeers()
const { buildPackage } = await import("../tools/build-package.mjs")
const { withBuildLock } = await import("../tools/lock.mjs")
const { ensureBrowser } = await import("../tools/browser.mjs")
const { serveFolder } = await import("../tools/static-server.mjs")
const { build, runnerImport } = await import("vite")
const { chromium } = await import("@playwright/test")
if (!(await ensureBrowser())) process.exit(1)
await withBuildLock(() => buildPackage({ types: "warn" }))
/** @template T @param {string} path @returns {Promise<T>} */
const load = async (path) => /** @type {T} */ ((await runnerImport(inRoot(path), { configFile: false })).module)
/** @type {typeof import("../fixtures/memory.ts")} */
const { canMeasureMemory, MemoryWatch } = await load("test/fixtures/memory.ts")
/** @type {typeof import("../fixtures/chromium.ts")} */
const { chromiumLaunch } = await load("test/fixtures/chromium.ts")
/** @type {typeof import("./works.ts")} */
const { median } = await load("test/bench/works.ts")

const out = join(cache, "bench-page")
await build({
  configFile: false,
  root: inRoot("test/bench"),
  logLevel: "error",
  plugins: [peersPlugin()],
  worker: { format: "es", plugins: () => [peersPlugin()] },
  resolve: { alias: [{ find: /^agentdb-web$/, replacement: inRoot("dist/index.js") }] },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "esnext",
    rolldownOptions: { input: inRoot("test/bench/index.html") },
  },
})
// sqlite-wasm's own worker looks for these beside itself, by names that no bundler follows there.
for (const name of ["sqlite3.wasm", "sqlite3-opfs-async-proxy.js"]) {
  cpSync(inRoot("node_modules/@sqlite.org/sqlite-wasm/dist", name), join(out, "assets", name))
}
// Some peers need an isolated page, so all get one.
const isolation = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" }
const server = await serveFolder(out, { headers: isolation })

/** @typedef {Record<string, number>} Figures */
/** @type {Map<string, Figures[]>} */
const results = new Map()
/** @type {Map<string, string>} */
const failures = new Map()
try {
  const every = ["agentdb-web", "floor", ...(await listPeers()).filter((name) => name !== "agentdb-web")]
  const peers = only ? every.filter((name) => only.split(",").includes(name)) : quick ? quickPeers : every
  for (let round = 1; round <= rounds; round++) {
    for (const peer of peers) {
      if (failures.has(peer)) continue
      process.stdout.write(`round ${round} of ${rounds}: ${peer} ...`.padEnd(60))
      const start = Date.now()
      try {
        const figures = await measure(peer)
        results.set(peer, [...(results.get(peer) ?? []), figures])
        console.log(`${((Date.now() - start) / 1000).toFixed(1)} s`)
      } catch (error) {
        failures.set(peer, error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error))
        console.log(`could not be measured: ${failures.get(peer)}`)
      }
    }
  }
} finally {
  await server.close()
}
report()

async function listPeers() {
  const browser = await launch(mkdtempSync(join(tmpdir(), "agentdb-bench-")))
  try {
    const page = await open(browser.context)
    return /** @type {string[]} */ (await page.evaluate(() => Reflect.get(window, "bench").peers))
  } finally {
    await browser.end()
  }
}

/** One round of a peer: it writes in one page and reads in another. @param {string} peer @returns {Promise<Figures>} */
async function measure(peer) {
  const browser = await launch(mkdtempSync(join(tmpdir(), "agentdb-bench-")))
  try {
    const { context } = browser
    /** @type {Figures} */
    const figures = {}
    for (const work of ["write", "read"]) {
      const page = await open(context)
      Object.assign(figures, await evaluate(page, peer, work))
      await page.close()
    }
    if (peer === "agentdb-web" && canMeasureMemory) {
      const page = await open(context)
      Object.assign(figures, { "growth while reading slowly, MiB": await growth(page, context, peer) })
    }
    return figures
  } finally {
    await browser.end()
  }
}

/** @param {import("@playwright/test").Page} page @param {string} peer @param {string} work @returns {Promise<Figures>} */
async function evaluate(page, peer, work, given = sizes) {
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`${work} took over 3 minutes`)), 180_000).unref(),
  )
  const working = page.evaluate(
    ([peer, work, given]) => Reflect.get(window, "bench").run(peer, work, given),
    /** @type {const} */ ([peer, work, given]),
  )
  return Promise.race([working, late])
}

/**
 * What all processes of the browser hold more at the most while a slow reader reads (MiB).
 * @param {import("@playwright/test").Page} page @param {import("@playwright/test").BrowserContext} context @param {string} peer
 */
async function growth(page, context, peer) {
  const { processInfo } = await ((await context.browser()?.newBrowserCDPSession()) ?? fail()).send(
    "SystemInfo.getProcessInfo",
  )
  const pid = processInfo.find(({ type }) => type === "browser")?.id ?? fail()
  // The service is up by then, and nothing of the long result was read.
  await evaluate(page, peer, "slowly", { ...sizes, slowRows: 10 })
  const memory = new MemoryWatch(pid)
  try {
    await evaluate(page, peer, "slowly")
  } finally {
    memory.stop()
  }
  return memory.growth
}

/** @returns {never} */
function fail() {
  throw new Error("the browser does not tell its processes")
}

/** @param {string} folder */
async function launch(folder) {
  const context = await chromium.launchPersistentContext(folder, chromiumLaunch)
  return {
    context,
    async end() {
      await context.close()
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** @param {import("@playwright/test").BrowserContext} context */
async function open(context) {
  const page = await context.newPage()
  page.on("pageerror", (error) => console.error(`\n${error.message}`))
  page.on("requestfailed", (request) => console.error(`\n${request.url()} was not answered`))
  await page.goto(server.url)
  await page.waitForFunction(() => "bench" in window)
  return page
}

function report() {
  const values = (/** @type {string} */ peer, /** @type {string} */ work) =>
    (results.get(peer) ?? []).flatMap((figures) => figures[work] ?? [])
  const of = (/** @type {string} */ peer, /** @type {string} */ work) => median(values(peer, work))
  const ours = (/** @type {string} */ work) => of("agentdb-web", work)
  const works = [...new Set([...results.values()].flat().flatMap((figures) => Object.keys(figures)))]

  console.log(`\nMedians of ${rounds} rounds (least to most), and how many times ours. Lower is better.`)
  for (const work of works) {
    console.log(`\n${work}`)
    for (const peer of results.keys()) {
      const list = values(peer, work)
      if (list.length === 0) continue
      const ratio =
        peer === "agentdb-web" || Number.isNaN(ours(work)) ? "" : `${(median(list) / ours(work)).toFixed(2)}x`
      const range = `${show(median(list))} (${show(Math.min(...list))} to ${show(Math.max(...list))})`
      console.log(`  ${peer.padEnd(30)} ${range.padEnd(36)} ${ratio}`)
    }
  }
  for (const [peer, why] of failures) console.log(`\n${peer} could not be measured: ${why}`)

  const medians = {
    of,
    ours,
    floor: (/** @type {string} */ work) => of("floor", work),
    best: (/** @type {string} */ work) =>
      Math.min(...opfsPeers.map((peer) => of(peer, work)).filter((value) => !Number.isNaN(value))),
  }
  const judged = goals.map((goal) => {
    const got = goal.of(medians)
    return { name: goal.name, goal: goal.goal, got, met: Number.isFinite(got) && goal.met(got) }
  })
  console.log("\nGoals")
  for (const { name, goal, got, met } of judged) {
    console.log(
      `  ${!Number.isFinite(got) ? "-     " : met ? "met   " : "missed"}  ${name}: ${Number.isFinite(got) ? got.toFixed(2) : "not measured"}, goal ${goal}`,
    )
  }
  const peers = Object.fromEntries(
    [...results.keys()].map((peer) => [
      peer,
      Object.fromEntries(
        works
          .filter((work) => values(peer, work).length > 0)
          .map((work) => [work, { median: of(peer, work), all: values(peer, work) }]),
      ),
    ]),
  )
  mkdirSync(inRoot("test/bench/results"), { recursive: true })
  const file = inRoot("test/bench/results/latest.json")
  writeFileSync(file, `${JSON.stringify({ goals: judged, peers, failures: Object.fromEntries(failures) }, null, 2)}\n`)
  console.log(`\nWritten to test/bench/results/latest.json`)
}

/** @param {number} value */
function show(value) {
  return value < 1 ? value.toFixed(3) : value < 100 ? value.toFixed(1) : value.toFixed(0)
}
