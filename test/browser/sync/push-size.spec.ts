import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { setTimeout as delay } from "node:timers/promises"
import type { Page } from "@playwright/test"
import type { AgentDBServer } from "../../../src/node/serve.ts"
import { expect, test } from "../../fixtures/browser.ts"
import { canMeasureMemory, MemoryWatch } from "../../fixtures/memory.ts"
import { startServer } from "../../fixtures/node-server.ts"
import type { Profile } from "../../fixtures/profile.ts"
import { token } from "../../fixtures/service.ts"
import { TusStore } from "../../fixtures/tus-store.ts"
import { fill, look, push, type Target } from "./pushing.ts"

const mebibytes = Number(process.env["AGENTDB_PUSH_MIB"] ?? 20)

interface Receiver extends AsyncDisposable {
  readonly target: Target
  /** SHA-256 of what has arrived. */
  received(): string | undefined
}

/** Each end takes the bytes in without keeping them in memory. */
const receivers: Readonly<Record<string, () => Promise<Receiver>>> = {
  async presignedPut() {
    let received: string | undefined
    const server = createServer(async (request, response) => {
      response.setHeader("access-control-allow-origin", "*")
      response.setHeader("access-control-allow-methods", "PUT")
      response.setHeader("access-control-allow-headers", "if-none-match")
      if (request.method === "PUT") {
        const hash = createHash("sha256")
        await pipeline(request, hash)
        received = hash.digest("hex")
      }
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return {
      target: { sink: "presignedPut", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/snapshot` },
      received: () => received,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections()
        await new Promise<void>((resolve) => server.close(() => resolve()))
      },
    }
  },
  async tus() {
    const store = await TusStore.start()
    return {
      target: { sink: "tus", endpoint: store.endpoint },
      received: () => [...store.newest.values()].at(-1),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }
  },
}

for (const [name, start] of Object.entries(receivers)) {
  test(`${name}: a push of ${mebibytes} MiB needs no memory for it`, async ({ profile, site }) => {
    prepare(2_000)
    await using receiver = await start()
    const { page, databaseId } = await filled(profile, site.plain)
    await push(page, "DB_none", receiver.target)

    const { result, error } = await measured(profile, `${name}: push`, () => push(page, databaseId, receiver.target))
    expect(error).toBeUndefined()
    expect(result?.size).toBeGreaterThan(mebibytes * 2 ** 20 * 0.95)
    expect(receiver.received()).toBe(result?.sha256)
  })
}

test(`replay: a push of ${mebibytes} MiB to another AgentDB needs bounded memory`, async ({ profile, site }) => {
  prepare(3_000)
  await using server = await startServer()
  const { page, databaseId } = await filled(profile, site.plain)
  await replay(page, await fill(page, 16 * 1_024), server)

  const { rows } = await measured(profile, "replay: push", () => replay(page, databaseId, server), {
    // Playwright is sent a copy of every frame, which waits for it in the browser's own process.
    parts: "descendants",
    // Frames are garbage once they were read, and of that browsers let about 64 MiB a thread pile up.
    mebibytesMore: 192,
  })
  expect(rows).toBe(mebibytes * 1_024)
})

test(`a restore of ${mebibytes} MiB needs no memory for it`, async ({ profile, site }) => {
  prepare(2_000)
  const { page, databaseId } = await filled(profile, site.plain)
  // In the profile's folder, so that it goes with it.
  const path = join(profile.folder, "dump.sqlite")
  const [download] = await Promise.all([page.waitForEvent("download"), save(page, databaseId)])
  await download.saveAs(path)
  await page.evaluate(() => {
    const input = document.createElement("input")
    input.type = "file"
    document.body.append(input)
  })
  await page.locator("input[type=file]").setInputFiles(path)

  const restored = await measured(profile, "restore", () =>
    page.evaluate(async () => {
      const agentdb = await window.agentdbWeb.openAgentDB()
      const [file] = document.querySelector("input")?.files ?? []
      return agentdb.restoreDatabase(file as File)
    }),
  )
  expect(await look(page, restored.databaseId)).toEqual({ rows: mebibytes * 1_024, check: "ok" })
})

function prepare(msPerMebibyte: number): void {
  test.skip(!canMeasureMemory, "this system does not tell what its processes hold")
  test.setTimeout(120_000 + mebibytes * msPerMebibyte)
}

/** A database of about this size, in a browser of its own: what the filling took is given back by then. */
async function filled(profile: Profile, url: string) {
  const databaseId = await fill(await profile.open(url), mebibytes * 1_024)
  await profile.close()
  await profile.launch()
  return { page: await profile.open(url), databaseId }
}

/** The browser's processes may grow by so much while `work` runs, whatever its size. */
async function measured<T>(
  profile: Profile,
  what: string,
  work: () => Promise<T>,
  { parts = "all", mebibytesMore = 64 }: { parts?: "all" | "descendants"; mebibytesMore?: number } = {},
): Promise<T> {
  await delay(2_000)
  const memory = new MemoryWatch(await profile.browserPid(), parts)
  const started = performance.now()
  const result = await work()
  const ms = performance.now() - started
  memory.stop()
  console.log(
    `${what} of ${mebibytes} MiB in ${ms.toFixed(0)} ms: ${parts} of the browser's processes ${memory.before.toFixed(0)} MiB, ` +
      `at most ${memory.growth.toFixed(1)} MiB more`,
  )
  expect(memory.growth).toBeLessThanOrEqual(mebibytesMore)
  return result
}

/** How many rows have arrived. */
function replay(page: Page, databaseId: string, { url, wsUrl }: AgentDBServer): Promise<{ rows: unknown }> {
  const target = { databaseId, url, wsUrl, token: token() }
  return page.evaluate(async ({ databaseId, url, wsUrl, token }) => {
    const { client, openAgentDB, sync } = window.agentdbWeb
    const service = new client.AgentDBServiceClient({ url, token })
    const connect = (databaseId: string) => client.connect({ link: wsUrl, databaseId, token })
    const to = sync.replay({ service, connect, target: url })
    const pushed = await sync.pushSnapshot({ from: await openAgentDB(), databaseId, to })
    const db = await connect(pushed.databaseId as string)
    const row = await db.query("SELECT count(*) AS rows FROM t").first()
    await db.close()
    return { rows: row?.["rows"] }
  }, target)
}

/** As a person does: by a link on the page. */
function save(page: Page, databaseId: string): Promise<void> {
  return page.evaluate(async (databaseId) => {
    const agentdb = await window.agentdbWeb.openAgentDB()
    const { downloadUrl } = await agentdb.dumpDatabase(databaseId)
    const link = document.createElement("a")
    link.href = downloadUrl
    link.download = "dump.sqlite"
    link.click()
  }, databaseId)
}
