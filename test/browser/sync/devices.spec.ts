import type { Browser, Page } from "@playwright/test"
import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { ObjectStore } from "../../fixtures/object-store.ts"
import { fill, look, push, type Target } from "./pushing.ts"

let store: ObjectStore
test.beforeEach(async () => {
  store = await ObjectStore.start()
})
test.afterEach(() => store[Symbol.asyncDispose]())

const target = async (): Promise<Target> => ({ sink: "presignedPut", url: await store.signPut() })

/** Another machine: it shares nothing with the others. */
const device = async (browser: Browser, origin: string): Promise<Page> =>
  openHarness(await (await browser.newContext()).newPage(), origin)

/** What a new device makes of what is in the store. */
async function restored(browser: Browser, origin: string): Promise<unknown> {
  const page = await device(browser, origin)
  const databaseId = await page.evaluate(
    async (url) => {
      const agentdb = await window.agentdbWeb.openAgentDB()
      return (await agentdb.restoreDatabase(await (await fetch(url)).blob())).databaseId
    },
    await store.signGet(),
  )
  const found = await look(page, databaseId)
  await page.context().close()
  return found
}

test("C44: an older copy does not go over a newer snapshot, and a cut upload is no snapshot", async ({
  browser,
  site,
}) => {
  const one = await device(browser, site.plain)
  const ten = await fill(one, 10)
  expect((await push(one, ten, await target())).result).toMatchObject({ pushed: true })
  expect(await restored(browser, site.plain)).toEqual({ rows: 10, check: "ok" })

  const two = await device(browser, site.plain)
  const five = await fill(two, 5)
  expect((await push(two, five, await target())).error).toMatchObject({ code: "failed_precondition" })
  expect(store.puts).toMatchObject([
    { status: 200, ifNoneMatch: "*" },
    { status: 412, ifNoneMatch: "*" },
  ])
  expect(await restored(browser, site.plain)).toEqual({ rows: 10, check: "ok" })

  // Device 1 goes on; its upload is cut by a lost connection, by the server, and by the end of the page.
  await one.evaluate(async (databaseId) => {
    const db = await (await window.agentdbWeb.openAgentDB()).connect(databaseId)
    await db.exec("INSERT INTO t(filler) VALUES ('the eleventh')")
  }, ten)
  store.refusals.push({ status: 500 })
  store.proxy.cutAt({ afterBytes: 5_000 })
  // Else the browser repeats the request by itself.
  store.proxy.onCut = () => store.proxy.refuse(true)
  expect((await push(one, ten, await target(), { attempts: 1 })).error).toMatchObject({ code: "unavailable" })
  store.proxy.refuse(false)
  expect(await restored(browser, site.plain)).toEqual({ rows: 10, check: "ok" })
  expect((await push(one, ten, await target(), { attempts: 1 })).error).toMatchObject({ code: "unavailable" })
  expect(store.puts.at(-1)).toMatchObject({ status: 500 })
  expect(await restored(browser, site.plain)).toEqual({ rows: 10, check: "ok" })
  const cut = new Promise<void>((resolve) => {
    store.proxy.onCut = resolve
  })
  store.proxy.cutAt({ afterBytes: 5_000, stands: true })
  const pushing = push(one, ten, await target()).catch(() => undefined)
  await cut
  await one.reload()
  await pushing
  expect(await restored(browser, site.plain)).toEqual({ rows: 10, check: "ok" })

  // The push again, twice: once it is written, and once there is nothing to write.
  await one.waitForFunction(() => window.agentdbWeb !== undefined)
  expect((await push(one, ten, await target())).result).toMatchObject({ pushed: true })
  expect((await push(one, ten, await target())).result).toMatchObject({ pushed: false })
  expect(await restored(browser, site.plain)).toEqual({ rows: 11, check: "ok" })
})
