import { readFile } from "node:fs/promises"
import type { BrowserContext, Page } from "@playwright/test"
import { SocketLink } from "../../src/link/socket-link.ts"
import { type RoutedAgentDB, type RouteOptions, route } from "../../src/testing/playwright/route.ts"
import { test as base, expect, openHarness } from "../fixtures/browser.ts"
import { dataPlane } from "../fixtures/data-plane.ts"
import { PageSocket } from "../fixtures/page-socket.ts"
import { token } from "../fixtures/service.ts"
import { WirePeer } from "../fixtures/wire-peer.ts"
import { nodeWorker } from "../tools/node-worker.mjs"

const url = "wss://agents.example.test/db"
const origin = "https://agents.example.test"

const routeAgentDB = async (target: Page | BrowserContext, options: RouteOptions = { url }) =>
  route(target, options, await nodeWorker())

/** As the package's own fixture, over the sources as they are; and a page of an origin that is not there either. */
const test = base.extend<{ agentdb: RoutedAgentDB; app: Page }>({
  agentdb: async ({ context }, use) => {
    await using agentdb = await routeAgentDB(context)
    await use(agentdb)
  },
  app: async ({ page, context, agentdb }, use) => {
    expect(agentdb.wsUrl).toBe(url)
    await openApp(page)
    await context.setOffline(true)
    await use(page)
  },
})

async function openApp(page: Page): Promise<Page> {
  const html = "<!doctype html><title>agent</title>"
  await page.route("https://app.example.test/**", (route) => route.fulfill({ contentType: "text/html", body: html }))
  await page.goto("https://app.example.test/")
  return page
}

const openSocket = async (page: Page, address = url) => {
  const socket = await PageSocket.open(page, address)
  // What it does not have is not used.
  return { socket, peer: new WirePeer(new SocketLink(socket as unknown as WebSocket)) }
}

async function connectPeer(page: Page, databaseId: string): Promise<WirePeer> {
  const { peer } = await openSocket(page)
  expect((await peer.hello(token(), databaseId)).kinds).toEqual(["helloOk"])
  return peer
}

for (const [title, check] of Object.entries(dataPlane)) {
  test(`through a page's WebSocket: ${title}`, async ({ app, agentdb }) => {
    const { databaseId } = await agentdb.createDatabase()
    await check(() => connectPeer(app, databaseId))
  })
}

test("closes pass with code and reason, the service's and the page's", async ({ app, agentdb }) => {
  const { databaseId } = await agentdb.createDatabase()
  const closeOf = (socket: PageSocket) => new Promise((resolve) => (socket.onclose = resolve))
  const { socket: text } = await openSocket(app)
  await expect.poll(() => text.readyState).toBe(1)
  text.sendText("hello")
  expect(await closeOf(text)).toMatchObject({ code: 1003, reason: "frames are binary", wasClean: true })
  const { socket: noise } = await openSocket(app)
  await expect.poll(() => noise.readyState).toBe(1)
  noise.send(new Uint8Array([0xff, 0xff, 0xff]))
  expect(await closeOf(noise)).toMatchObject({ code: 1007 })
  const { peer: refused } = await openSocket(app)
  expect((await refused.hello("nonsense", databaseId)).error?.code).toBe("unauthenticated")
  expect(await refused.closed).toMatchObject({ code: 1008, reason: "the Hello was refused" })
  for (const [given, code, reason] of [
    [undefined, 1005, ""],
    [4242, 4242, "enough"],
  ] as const) {
    const { socket } = await openSocket(app)
    await expect.poll(() => socket.readyState).toBe(1)
    const closed = closeOf(socket)
    socket.close(given, given && reason)
    expect(await closed).toMatchObject({ code, reason })
  }
  const peer = await connectPeer(app, databaseId)
  await agentdb.deleteDatabase(databaseId)
  expect(await peer.closed).toMatchObject({ code: 1008 })
})

test("a frame beyond the limit closes with 1009", async ({ page }) => {
  await using agentdb = await routeAgentDB(page, { url, limits: { maxFrameBytes: 1_000_000 } })
  const { databaseId } = await agentdb.createDatabase()
  const peer = await connectPeer(await openApp(page), databaseId)
  void peer.exec("SELECT ?", new Uint8Array(1_000_001))
  expect(await peer.closed).toMatchObject({ code: 1009 })
})

for (const [way, leave] of [
  ["closes", (page: Page) => page.close()],
  ["navigates", (page: Page) => page.goto("https://app.example.test/other")],
  ["reloads", (page: Page) => page.reload()],
  ["crashes", (page: Page) => page.goto("chrome://crash").catch(() => {})],
] as const) {
  test(`a page that ${way} ends its sockets, and their transactions roll back`, async ({ app, context, agentdb }) => {
    // The browser's own pages are not for a page that is offline.
    await context.setOffline(false)
    const { databaseId } = await agentdb.createDatabase()
    const db = await agentdb.connect(databaseId)
    await db.exec("CREATE TABLE tx(x)")
    const peer = await connectPeer(app, databaseId)
    await peer.begin()
    await peer.exec("INSERT INTO tx VALUES(1)")
    await leave(app)
    // It would not get the write turn from a transaction that is still there.
    await db.exec("INSERT INTO tx VALUES(2)")
    expect(await db.query("SELECT x FROM tx").all()).toEqual([{ x: 2 }])
  })
}

test("a context that closes does so for all its pages", async ({ browser }) => {
  const context = await browser.newContext()
  await using agentdb = await routeAgentDB(context)
  const { databaseId } = await agentdb.createDatabase()
  const db = await agentdb.connect(databaseId)
  await db.exec("CREATE TABLE tx(x)")
  const peer = await connectPeer(await openApp(await context.newPage()), databaseId)
  await peer.begin()
  await context.close()
  await db.exec("INSERT INTO tx VALUES(2)")
})

test("an unmodified page: Twirp by fetch, a socket by URL, a dump; the test seeds and inspects", async ({
  page,
  context,
  site,
  agentdb,
}) => {
  const { databaseId } = await agentdb.createDatabase({ region: "eu" })
  await using db = await agentdb.connect(databaseId)
  await db.exec("CREATE TABLE note(text)")
  await db.exec("INSERT INTO note VALUES('from the test')")
  await openHarness(page, site.plain)
  await context.setOffline(true)
  const seen = await page.evaluate(
    async ([wsUrl, base, id, accessToken]) => {
      const { connect, AgentDBServiceClient } = window.agentdbWeb.client
      const calls = new AgentDBServiceClient({ url: base, token: accessToken })
      const { region } = await calls.getDatabase(id)
      const mine = await calls.createDatabase()
      const connection = await connect({ link: wsUrl, databaseId: id, token: accessToken })
      const notes = await connection.query("SELECT text FROM note").all()
      await connection.exec("INSERT INTO note VALUES('from the page')")
      const { downloadUrl } = await calls.dumpDatabase(id)
      const answer = await fetch(downloadUrl)
      const head = await fetch(downloadUrl, { method: "HEAD" })
      const file = new Uint8Array(await answer.arrayBuffer())
      const refused = await fetch(`${base}/twirp/livekit.AgentDBService/ListDatabases`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      })
      return {
        region,
        notes,
        mine: mine.databaseId,
        downloadUrl,
        size: file.length,
        headSize: Number(head.headers.get("content-length")),
        magic: String.fromCharCode(...file.subarray(0, 15)),
        refused: [refused.status, (await refused.json()).code],
      }
    },
    [url, origin, databaseId, agentdb.token()] as const,
  )
  expect(seen).toMatchObject({
    region: "eu",
    notes: [{ text: "from the test" }],
    magic: "SQLite format 3",
    refused: [401, "unauthenticated"],
  })
  expect(seen.headSize).toBe(seen.size)
  expect(await db.query("SELECT text FROM note").all()).toHaveLength(2)
  const ids = (await agentdb.listDatabases()).databases.map((info) => info.databaseId)
  expect(ids).toEqual([databaseId, seen.mine])
  expect((await agentdb.fetch(seen.downloadUrl)).status).toBe(200)
})

test("a dump can be saved by a link", async ({ app, agentdb }) => {
  const { databaseId } = await agentdb.createDatabase()
  const { downloadUrl } = await agentdb.dumpDatabase(databaseId)
  await app.setContent(`<a href="${downloadUrl}">save</a>`)
  const [download] = await Promise.all([app.waitForEvent("download"), app.click("a")])
  expect(download.suggestedFilename()).toBe("agentdb.sqlite")
  expect((await readFile(await download.path())).subarray(0, 15).toString()).toBe("SQLite format 3")
})

test("services are apart; one can serve several contexts", async ({ browser, app, agentdb }) => {
  const { databaseId } = await agentdb.createDatabase()
  const others = await Promise.all([browser.newContext(), browser.newContext()])
  const [apart, together] = await Promise.all(others.map(async (context) => openApp(await context.newPage())))
  if (!apart || !together) throw new Error("two contexts have two pages")
  await using second = await routeAgentDB(apart)
  await agentdb.route(together.context())
  // Sockets of before are not routed, so the page starts anew.
  await together.reload()
  expect((await second.listDatabases()).databases).toEqual([])
  const { peer: stranger } = await openSocket(apart)
  expect((await stranger.hello(token(), databaseId)).error?.code).toBe("not_found")
  const [one, two] = [await connectPeer(app, databaseId), await connectPeer(together, databaseId)]
  await one.exec("CREATE TABLE t(x)")
  expect((await two.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
  await Promise.all(others.map((context) => context.close()))
})

test("nothing else of that origin is touched", async ({ page, agentdb }) => {
  expect(agentdb.url).toBe(origin)
  await openApp(page)
  await page.route(`${origin}/app.js`, (route) => route.fulfill({ body: "the app's own" }))
  expect(await page.evaluate((base) => fetch(`${base}/app.js`).then((answer) => answer.text()), origin)).toBe(
    "the app's own",
  )
  const failed = await page.evaluate((base) => fetch(`${base}/other`).then(() => "", String), origin)
  expect(failed).toContain("Failed to fetch")
})

test("closing ends the sockets with 1001, twice is once, and pages are on their own again", async ({ page }) => {
  const agentdb = await routeAgentDB(page)
  const { databaseId } = await agentdb.createDatabase()
  const peer = await connectPeer(await openApp(page), databaseId)
  await Promise.all([agentdb.close(), agentdb.close()])
  expect(await peer.closed).toMatchObject({ code: 1001 })
  const { peer: late } = await openSocket(page)
  expect(await late.closed).toMatchObject({ code: 1001 })
  const call = page.evaluate((base) => fetch(`${base}/twirp/x`, { method: "POST" }).then(() => "", String), origin)
  expect(await call).toContain("Failed to fetch")
  await expect(agentdb.listDatabases()).rejects.toMatchObject({ code: "closed" })
})
