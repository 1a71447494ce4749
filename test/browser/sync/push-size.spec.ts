import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { pipeline } from "node:stream/promises"
import { setTimeout as delay } from "node:timers/promises"
import { expect, test } from "../../fixtures/browser.ts"
import { canMeasureMemory, MemoryWatch } from "../../fixtures/memory.ts"
import { TusStore } from "../../fixtures/tus-store.ts"
import { fill, push, type Target } from "./pushing.ts"

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
    test.skip(!canMeasureMemory, "this system does not tell what its processes hold")
    test.setTimeout(120_000 + mebibytes * 2_000)
    await using receiver = await start()
    const page = await profile.open(site.plain)
    const databaseId = await fill(page, mebibytes * 1_024)
    // What the filling took is given back by then, in a browser of its own.
    await profile.close()
    await profile.launch()
    const again = await profile.open(site.plain)
    await push(again, "DB_none", receiver.target)
    await delay(2_000)

    const memory = new MemoryWatch(await profile.browserPid())
    const started = performance.now()
    const { result, error } = await push(again, databaseId, receiver.target)
    const ms = performance.now() - started
    memory.stop()
    expect(error).toBeUndefined()
    console.log(
      `${name}: push of ${((result?.size ?? 0) / 2 ** 20).toFixed(0)} MiB in ${ms.toFixed(0)} ms: all browser ` +
        `processes ${memory.before.toFixed(0)} MiB, at most ${memory.growth.toFixed(1)} MiB more`,
    )
    expect(result?.size).toBeGreaterThan(mebibytes * 2 ** 20 * 0.95)
    expect(receiver.received()).toBe(result?.sha256)
    expect(memory.growth).toBeLessThanOrEqual(64)
  })
}
