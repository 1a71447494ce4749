import { setTimeout as delay } from "node:timers/promises"
import { expect, test } from "../../fixtures/browser.ts"
import { canMeasureMemory, treeMemory } from "../../fixtures/memory.ts"

/** Batches to take, and how long to wait between two; the full form is 60 at one a second. */
const batches = Number(process.env["AGENTDB_SLOW_BATCHES"] ?? 12)
const pauseMs = Number(process.env["AGENTDB_SLOW_PAUSE_MS"] ?? 250)

test("a million rows to a slow reader: memory stays flat and no batch goes beyond the credit", async ({
  profile,
  site,
}) => {
  test.skip(!canMeasureMemory, "this system does not tell what its processes hold")
  test.setTimeout(60_000 + batches * pauseMs * 2)
  const page = await profile.open(site.plain)
  await page.evaluate(async () => {
    const { client, mintToken, openAgentDB } = window.agentdbWeb
    const agentdb = await openAgentDB({ storage: "opfs" })
    const { databaseId } = await agentdb.createDatabase()
    const writer = await agentdb.connect(databaseId)
    await writer.exec("CREATE TABLE m(id INTEGER PRIMARY KEY, role TEXT, content TEXT, score REAL)")
    await writer.exec(
      `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 1000000)
       INSERT INTO m SELECT i, 'user', printf('message %d %s', i, hex(zeroblob(50))), i / 7.0 FROM c`,
    )
    await writer.close()

    // Every frame passes through here.
    const balance = { credit: 4, lowest: 4, highest: 4, batches: 0, queryId: -1 }
    const [service, { port1, port2 }] = [agentdb.port(), new MessageChannel()]
    port1.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) {
        const { requestId, message } = window.agentdbWeb.decodeClientMessage(new Uint8Array(data))
        if (message.case === "query" && balance.queryId < 0) balance.queryId = requestId
        if (message.case === "credit" && requestId === balance.queryId) balance.credit += message.value.batches
        balance.highest = Math.max(balance.highest, balance.credit)
      }
      service.postMessage(data, data instanceof ArrayBuffer ? [data] : [])
    }
    service.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) {
        const { requestId, message } = window.agentdbWeb.decodeServerMessage(new Uint8Array(data))
        if (message.case === "columnBatch" && requestId === balance.queryId) {
          balance.batches++
          balance.lowest = Math.min(balance.lowest, --balance.credit)
        }
      }
      port1.postMessage(data, data instanceof ArrayBuffer ? [data] : [])
    }
    const token = () => mintToken("devkey", "secret", Math.floor(Date.now() / 1000))
    const reader = await client.connect({ link: port2, databaseId, token })
    const stream = reader.query("SELECT * FROM m")
    const taken = stream.batches()[Symbol.asyncIterator]()
    Object.assign(window, {
      slowReader: {
        balance,
        take: async () => (await taken.next()).value?.rows ?? 0,
        cancel: async () => {
          await taken.return?.()
          return (await reader.query("SELECT 1 AS one").first())?.one
        },
      },
    })
  })
  const call = <T>(name: "take" | "cancel") =>
    page.evaluate(
      (name) => (window as unknown as { slowReader: Record<string, () => unknown> }).slowReader[name]?.(),
      name,
    ) as Promise<T>

  const pid = await profile.browserPid()
  expect(await call<number>("take")).toBeGreaterThan(0)
  await delay(1000)
  const before = treeMemory(pid)
  const samples: number[] = []
  for (let i = 0; i < batches; i++) {
    expect(await call<number>("take")).toBeGreaterThan(0)
    await delay(pauseMs)
    samples.push(treeMemory(pid))
  }
  expect(await call<number>("cancel")).toBe(1)
  const balance = await page.evaluate(
    () => (window as unknown as { slowReader: { balance: Record<string, number> } }).slowReader.balance,
  )
  const growth = Math.max(...samples) - before
  console.log(
    `slow reader: ${balance["batches"]} batches, credit between ${balance["lowest"]} and ${balance["highest"]}, ` +
      `all browser processes ${before.toFixed(0)} MiB, at most ${growth.toFixed(1)} MiB more`,
  )
  expect(balance["lowest"]).toBeGreaterThanOrEqual(0)
  // Never more on their way than the window, whatever the reader's pace.
  expect(balance["batches"]).toBeLessThanOrEqual(batches + 1 + 8)
  expect(growth).toBeLessThan(128)
})
