import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { TusStore } from "../../fixtures/tus-store.ts"
import { addRow, fill, history, push, sha256, type Target } from "./pushing.ts"

let store: TusStore
test.beforeEach(async () => {
  store = await TusStore.start()
})
test.afterEach(() => store[Symbol.asyncDispose]())

const target = (): Target => ({ sink: "tus", endpoint: store.endpoint })

test("what a reload cut goes on where it was: only the rest is sent", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 3_000)
  const cut = new Promise<void>((resolve) => {
    store.proxy.onCut = resolve
  })
  store.proxy.cutAt({ afterBytes: 2_000_000, stands: true })
  const pushing = push(page, databaseId, target()).catch(() => undefined)
  await cut
  await page.reload()
  await pushing
  await page.waitForFunction(() => window.agentdbWeb !== undefined)
  expect(await history(page)).toMatchObject([{ state: "pushing", tip: 2 }])
  await expect.poll(async () => (await store.uploads())[0]?.offset).toBeGreaterThan(1_900_000)
  expect(await store.uploads()).toMatchObject([{ isComplete: false }])

  const before = store.proxy.sentBytes
  const { result } = await push(page, databaseId, target())
  const uploads = await store.uploads()
  expect(uploads).toMatchObject([
    { isComplete: true, metadata: { databaseId, tip: "2", sha256: result?.sha256, filename: `${databaseId}.sqlite` } },
  ])
  expect(sha256(await store.read(uploads[0]?.id ?? ""))).toBe(result?.sha256)
  expect(store.proxy.sentBytes - before).toBeLessThan((result?.size ?? 0) - 1_900_000 + 20_000)
  expect(result?.url).toBe(`${store.endpoint}/${uploads[0]?.id}`)
  expect(await history(page)).toMatchObject([{ state: "done" }, { state: "pushing" }])
})

test("what was cut and has changed since begins anew, and its remains are removed", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 1_000)
  store.proxy.cutAt({ afterBytes: 500_000 })
  expect((await push(page, databaseId, target(), { attempts: 1 })).error).toMatchObject({ code: "unavailable" })
  expect(await store.uploads()).toMatchObject([{ isComplete: false }])
  await addRow(page, databaseId)
  const { result } = await push(page, databaseId, target())
  expect(await store.uploads()).toMatchObject([{ isComplete: true, metadata: { sha256: result?.sha256, tip: "3" } }])
})

test("a server that knows something newer refuses, unless the push is forced", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 100)
  await push(page, databaseId, target())
  await addRow(page, databaseId)
  const second = await push(page, databaseId, target())
  expect(second.result).toMatchObject({ pushed: true })
  // From here on this browser is one that had pushed the first state only.
  store.newest.set(databaseId, "of another device")
  await addRow(page, databaseId)
  expect((await push(page, databaseId, target())).error).toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining("a newer snapshot is here"),
  })
  expect(store.newest.get(databaseId)).toBe("of another device")
  expect((await push(page, databaseId, target(), { force: true })).result).toMatchObject({ pushed: true, tip: 4 })
})

test("in pieces it arrives as well, and content that is not what was promised is data_loss", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 1_000)
  const { result } = await push(page, databaseId, { ...target(), sink: "tus", chunkBytes: 100_000 } as Target)
  expect(store.newest.get(databaseId)).toBe(result?.sha256)

  const code = await page.evaluate(async (endpoint) => {
    const file = { blob: new Blob(["not what was hashed"]), sha256: "0".repeat(64), tip: 1 }
    const source = { databaseId: "DB_other", file: async () => file, open: () => Promise.reject() }
    const options = { force: false, last: undefined, unfinished: undefined, signal: new AbortController().signal }
    return window.agentdbWeb.sync
      .tus({ endpoint })
      .write(source, { ...options, remember: async () => {}, onProgress: () => {} })
      .catch(({ code }: { code: string }) => code)
  }, store.endpoint)
  expect(code).toBe("data_loss")
  expect(store.newest.has("DB_other")).toBe(false)
})

test("without a server it is unavailable, and a URL that is none is refused at once", async ({ page, site }) => {
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 10)
  store.proxy.refuse(true)
  expect((await push(page, databaseId, target(), { attempts: 2 })).error).toMatchObject({ code: "unavailable" })
  const none: Target = { sink: "tus", endpoint: "http://" }
  expect((await push(page, databaseId, none)).error).toMatchObject({ code: "invalid_argument" })
})
