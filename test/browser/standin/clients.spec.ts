import type { Page } from "@playwright/test"
import { expect, test } from "../../fixtures/browser.ts"
import { client } from "../../fixtures/client-tag.ts"
import { startEchoServer } from "../../fixtures/echo-server.ts"
import { startServer } from "../../fixtures/node-server.ts"

async function openPage(page: Page, origin: string) {
  await page.goto(`${origin}/standin.html`)
  await page.waitForFunction(() => window.standinPage !== undefined)
}

test.beforeEach(({ page, site }) => openPage(page, site.plain))

test(
  "the official codec drives the data plane by hand, with one Credit per batch taken and none first",
  client("official-codec"),
  async ({ page }) => {
    expect(await page.evaluate(() => window.standinPage.byHand())).toEqual({
      answers: ["helloOk", "execResult", "done", "pong"],
      totalRows: 20_000,
      rows: 20_000,
      manyBatches: true,
      closed: [1000, true],
    })
  },
)

test("what the service can't take ends with its own close code", async ({ page }) => {
  expect(await page.evaluate(() => window.standinPage.refusals())).toEqual({
    text: [1003, true],
    textAfterHello: [1003, true],
    undecodable: [1007, true],
    noHello: [1008, true],
    handleClosed: [1001, true],
    afterwards: ["error", "close"],
  })
})

for (const make of ["reconnecting-websocket", "partysocket"] as const) {
  test(`${make} connects, exchanges, and connects again when the worker has died`, client(make), async ({ page }) => {
    const { before, after, protocol, bufferedAmount, events, retries } = await page.evaluate(
      (make) => window.standinPage.reconnecting(make),
      make,
    )
    expect([before, after]).toEqual(Array(2).fill(["helloOk", "pong"]))
    expect([protocol, bufferedAmount]).toEqual(["one", 0])
    // At an error both tell of a close by themselves, so that is theirs to order.
    expect([events[0], ...events.slice(1, 3).toSorted()]).toEqual(["open", "close", "error"])
    expect(events.slice(-2)).toEqual(["open", "close"])
    expect(retries).toBeLessThan(20)
  })
}

test(
  "graphql-ws connects, exchanges, and connects again when the connection is lost",
  client("graphql-ws"),
  async ({ page }) => {
    expect(await page.evaluate(() => window.standinPage.graphql())).toEqual({
      answers: [{ hello: "from afar" }],
      counts: [1, 2, 1, 2, 3],
      events: [
        "opened",
        "connected graphql-transport-ws",
        "error",
        "closed 1006",
        "opened",
        "connected graphql-transport-ws",
        "closed 1000",
      ],
    })
  },
)

test(
  "graphql-ws at an AgentDB learns by 1003 that it takes no text, and gives up",
  client("graphql-ws"),
  async ({ page }) => {
    expect(await page.evaluate(() => window.standinPage.graphqlRefused())).toEqual(["opened", "failed 1003"])
  },
)

for (const kind of ["plain", "isolated", "strict"] as const) {
  test(`this package's client works over the class, and over a URL under install, on a ${kind} page`, async ({
    page,
    site,
  }) => {
    await openPage(page, site[kind])
    expect(await page.evaluate(() => window.standinPage.ownClient())).toEqual({
      before: [[1, 2], 2],
      many: 50_000,
      after: { n: 2 },
    })
  })
}

for (const form of ["protobuf", "JSON"]) {
  test(
    `protobuf-ts's Twirp client works through the patched fetch, in ${form}`,
    client("protobuf-ts"),
    async ({ page }) => {
      expect(await page.evaluate((json) => window.standinPage.protobufTs(json), form === "JSON")).toEqual({
        isId: true,
        expires: true,
        region: "moon",
        tip: 0,
        missing: "not_found",
        aborted: "cancelled",
      })
    },
  )
}

const sdkSaw = {
  isId: true,
  expires: "string",
  got: ["moon", "0"],
  listed: true,
  deleted: {},
  failed: [404, "not_found"],
}

test(
  "livekit-server-sdk's token and Twirp client work through the patched fetch",
  client("livekit-server-sdk"),
  async ({ page }) => {
    expect(await page.evaluate(() => window.standinPage.livekitServerSdk())).toEqual(sdkSaw)
  },
)

test(
  "livekit-server-sdk in a page works at the Node server, across origins",
  client("livekit-server-sdk"),
  async ({ page }) => {
    await using server = await startServer()
    expect(await page.evaluate((url) => window.standinPage.livekitServerSdkAt(url), server.url)).toEqual(sdkSaw)
  },
)

test("dumps are downloads of the patched fetch, until they expire", async ({ page }) => {
  expect(await page.evaluate(() => window.standinPage.dumps())).toEqual({
    url: true,
    tip: 1,
    status: 200,
    type: "application/vnd.sqlite3",
    length: true,
    magic: "SQLite format 3",
    head: [200, true, 0],
    posted: 405,
    aborted: "enough",
    never: "never",
    blob: [true, true],
    own: true,
    expired: 404,
    restored: true,
  })
})

test("a service that is gone is a network error, and an abort keeps its reason", async ({ page }) => {
  expect(await page.evaluate(() => window.standinPage.gone())).toEqual([true, true, true])
})

test("everything else passes to the originals as it came", async ({ page }) => {
  await using server = await startEchoServer()
  expect(await page.evaluate((url) => window.standinPage.passing(url), server.url)).toEqual({
    same: Array(8).fill(true),
    untouched: [true, true, true],
    isOurs: true,
    constructed: true,
    opened: Array(2).fill([1, true, true, true]),
    instances: [true, true, false, false],
    restored: [true, true],
  })
})

test("installs nest, and go in any order", async ({ page }) => {
  expect(await page.evaluate(() => window.standinPage.nesting())).toEqual({
    both: [[true, true], "false,false"],
    "inner gone": [[false, true], "false,false"],
    "both gone": [[false, false], "true,true"],
    "outer gone": [[true, false], "false,false"],
    "in order": [[false, false], "true,true"],
    "patched over": [true, true],
    "passes on": [true, "native"],
    refused: [["TypeError", "TypeError"], "true,true"],
  })
})

test("a client in a worker is served in the same way", async ({ page }) => {
  expect(await page.evaluate(() => window.standinPage.inWorker())).toEqual({
    row: { sum: 3 },
    dumped: true,
    restored: true,
  })
})
