import { expect, openHarness, opfsTree, test } from "../../fixtures/browser.ts"
import { ObjectStore } from "../../fixtures/object-store.ts"
import { addRow, fill, history, push, sha256, type Target } from "./pushing.ts"

let store: ObjectStore
test.beforeEach(async () => {
  store = await ObjectStore.start()
})
test.afterEach(() => store[Symbol.asyncDispose]())

const target = async (): Promise<Target> => ({ sink: "presignedPut", url: await store.signPut() })

test("a push gives what was written, tells its progress and is remembered", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 3_000)
  const { result, progress } = await push(page, databaseId, await target())
  const stored = (await store.read()) as Uint8Array
  expect(result).toEqual({
    ...{ sink: "presignedPut", target: "the snapshot", sourceId: databaseId, pushed: true, tip: 2 },
    ...{ size: stored.length, sha256: sha256(stored), etag: expect.any(String) },
    url: `${store.proxy.origin}/snapshots/agent.sqlite`,
  })
  expect(new Set(progress.map(({ phase }) => phase))).toEqual(new Set(["dumping", "uploading", "verifying"]))
  for (const phase of ["dumping", "uploading"] as const) {
    const done = progress.filter((now) => now.phase === phase)
    expect(done.at(-1)).toEqual({ phase, doneBytes: stored.length, totalBytes: stored.length })
    expect(done.map(({ doneBytes }) => doneBytes)).toEqual(done.map(({ doneBytes }) => doneBytes).sort((a, b) => a - b))
  }

  await page.reload()
  await page.waitForFunction(() => window.agentdbWeb !== undefined)
  expect(await history(page)).toMatchObject([{ state: "done", databaseId, tip: 2, sha256: result?.sha256 }])
})

test("unchanged is not pushed again unless forced; changed replaces what was pushed", async ({ profile, site }) => {
  const page = await profile.open(site.plain)
  const databaseId = await fill(page, 50)
  const { result } = await push(page, databaseId, await target())
  await page.reload()
  await page.waitForFunction(() => window.agentdbWeb !== undefined)
  expect((await push(page, databaseId, await target())).result).toEqual({ ...result, pushed: false })
  expect(store.puts).toHaveLength(1)
  expect((await push(page, databaseId, await target(), { force: true })).result).toEqual(result)
  await addRow(page, databaseId)
  const changed = await push(page, databaseId, await target())
  expect(changed.result).toMatchObject({ pushed: true, tip: 3 })
  expect(store.puts).toMatchObject([
    { ifNoneMatch: "*" },
    { ifMatch: undefined, ifNoneMatch: undefined },
    { ifMatch: result?.etag, status: 200 },
  ])
  expect((await history(page)).map(({ state, tip }) => [state, tip])).toEqual([
    ["done", 3],
    ["done", 2],
    ["done", 2],
  ])
  expect(sha256((await store.read()) as Uint8Array)).toBe(changed.result?.sha256)
})

test("without a network a push fails, or waits for it when asked", async ({ page, context, site }) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 50)
  await page.evaluate(() => window.agentdbWeb.sync.pushHistory())
  await context.setOffline(true)
  expect(await push(page, databaseId, await target())).toMatchObject({ error: { code: "unavailable" } })
  const waiting = push(page, databaseId, await target(), { whenOnline: true })
  await expect.poll(async () => (await history(page))[0]?.state).toBe("pushing")
  expect(store.puts).toEqual([])
  await context.setOffline(false)
  const { result, progress } = await waiting
  expect(result).toMatchObject({ pushed: true })
  expect(progress[0]).toEqual({ phase: "waiting", doneBytes: 0, totalBytes: 0 })
  expect((await history(page)).map(({ state, code }) => [state, code])).toEqual([
    ["done", undefined],
    ["failed", "unavailable"],
  ])
})

test("a server of this machine is reached by a browser that believes to be offline", async ({ page, site }) => {
  await page.addInitScript(() => Object.defineProperty(navigator, "onLine", { get: () => false }))
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 50)
  expect((await push(page, databaseId, await target())).error).toMatchObject({ code: "unavailable" })
  expect(store.puts).toEqual([])
  store.refusals.push({ status: 503 })
  const near = { ...(await target()), needsNetwork: false } as Target
  expect((await push(page, databaseId, near)).result).toMatchObject({ pushed: true })
  expect(store.puts).toHaveLength(2)
})

test("a network that goes in the middle of a push is waited for too", async ({ page, context, site }) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 2_000)
  store.proxy.cutAt({ afterBytes: 300_000 })
  store.proxy.onCut = () => {
    store.proxy.refuse(true)
    void context.setOffline(true)
  }
  const pushed = push(page, databaseId, await target(), { whenOnline: true, attempts: 1_000 })
  await expect.poll(() => page.evaluate(() => navigator.onLine)).toBe(false)
  expect(store.puts).toEqual([])
  store.proxy.refuse(false)
  await context.setOffline(false)
  expect((await pushed).result).toMatchObject({ pushed: true })
  expect(store.puts).toMatchObject([{ status: 200 }])
})

test("two pushes of a database to one place run one after the other, and the second finds nothing to do", async ({
  page,
  site,
}) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 1_000)
  const to = await target()
  const [one, two] = await Promise.all([push(page, databaseId, to), push(page, databaseId, to)])
  expect([one.result?.pushed, two.result?.pushed].sort()).toEqual([false, true])
  expect(store.puts).toHaveLength(1)
})

test("an abort ends a push with canceled, and its copy on disk goes", async ({ profile, site }) => {
  const page = await profile.open(site.plain)
  const databaseId = await fill(page, 2_000)
  const url = await store.signPut()
  store.refusals.push({ status: 503, headers: { "retry-after": "3600" } })
  const ended = page.evaluate(
    async ({ databaseId, url }) => {
      const { openAgentDB, sync } = window.agentdbWeb
      const controller = new AbortController()
      window.addEventListener("stop-push", () => controller.abort())
      const from = await openAgentDB()
      const to = sync.presignedPut({ url })
      return sync
        .pushSnapshot({ from, databaseId, to, signal: controller.signal })
        .catch(({ code, name }) => [code, name])
    },
    { databaseId, url },
  )
  await expect.poll(() => store.puts.length).toBe(1)
  await page.evaluate(() => window.dispatchEvent(new Event("stop-push")))
  expect(await ended).toEqual(["canceled", "AbortError"])
  expect(await store.read()).toBeUndefined()
  expect(await history(page)).toMatchObject([{ state: "failed", code: "canceled" }])
  await expect.poll(async () => (await opfsTree(page)).filter(({ path }) => path.includes("dump-"))).toEqual([])
})

test("what can't be pushed says so", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const to = await target()
  expect(await push(page, "DB_unknown", to)).toMatchObject({ error: { code: "not_found" } })
  expect(await history(page)).toEqual([])
})
