import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ensureInstalled } from "../../tools/install.mjs"
import { inRoot } from "../../tools/paths.mjs"

// The VFS of this project beside sqlite-wasm's own sahpool, on OPFS on disk, in one run: ratios travel, milliseconds do not.
const rounds = Number(process.env.ROUNDS ?? 5)
ensureInstalled()
const { findBrowser } = await import("../../tools/browser.mjs")
const { serveFolder } = await import("../../tools/static-server.mjs")
const { build } = await import("vite")
const { chromium } = await import("@playwright/test")

const out = mkdtempSync(join(tmpdir(), "agentdb-bench-"))
const profile = mkdtempSync(join(tmpdir(), "agentdb-bench-profile-"))
await build({
  configFile: false,
  root: inRoot("test/bench/vfs"),
  logLevel: "warn",
  worker: { format: "es" },
  build: { outDir: out, emptyOutDir: true, target: "esnext" },
})
const server = await serveFolder(out)
const executablePath = findBrowser()
const context = await chromium.launchPersistentContext(profile, {
  ...(executablePath ? { executablePath } : {}),
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
})
try {
  const page = await context.newPage()
  await page.goto(server.url)
  await page.waitForFunction(() => "vfsBench" in window)
  const peers = await page.evaluate(() => Reflect.get(window, "vfsBench").peers)
  /** @type {Map<string, Map<string, number[]>>} by workload and peer */
  const times = new Map()
  for (let round = 0; round < rounds; round++) {
    for (const peer of peers) {
      for (const [work, ms] of Object.entries(
        await page.evaluate((peer) => Reflect.get(window, "vfsBench").round(peer), peer),
      )) {
        const row = times.get(work) ?? new Map()
        row.set(peer, [...(row.get(peer) ?? []), ms])
        times.set(work, row)
      }
    }
  }
  const median = (/** @type {number[]} */ list = []) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0
  console.log(`medians of ${rounds} rounds; a ratio above 1 is how many times longer than ours\n`)
  for (const [work, row] of times) {
    const ours = median(row.get("ours"))
    console.log(`${work}: ours ${ours.toFixed(0)} ms`)
    for (const [peer, list] of row) {
      if (peer !== "ours")
        console.log(`  ${peer}: ${(median(list) / ours).toFixed(2)}x (${median(list).toFixed(0)} ms)`)
    }
  }
} finally {
  await context.close()
  await server.close()
  for (const folder of [out, profile]) rmSync(folder, { recursive: true, force: true })
}
