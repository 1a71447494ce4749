import { expect, test } from "@playwright/test"
import { Cli } from "../../fixtures/cli.ts"
import { canMeasureMemory, treeMemory } from "../../fixtures/memory.ts"
import { connectPeer, createDatabase } from "../../fixtures/node-server.ts"
import { RawSocket } from "../../fixtures/raw-socket.ts"
import { token } from "../../fixtures/service.ts"
import { rowsOf } from "../../fixtures/wire-peer.ts"

// The first of them may build the package.
test.describe.configure({ timeout: 180_000 })
test.skip(!canMeasureMemory, "this system does not tell what its processes hold")

const endless = 0xffff_ffff
/** 150 MB of rows, each of 100,000 zeros. */
const rows = 1_500
const large = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT ${rows}) SELECT x, zeroblob(100000) FROM c`
/** Of what a stalled socket holds, and of garbage. The three results have 430. */
const boundMiB = 100

async function start() {
  const cli = await Cli.start("serve", "--port", "0")
  const at = await cli.address()
  const server = { ...at, databaseId: await createDatabase(at) }
  const slow = await RawSocket.open(server.wsUrl)
  slow.send(0, { case: "hello", value: { token: token(), databaseId: server.databaseId } })
  const frames = slow.frames()
  expect((await frames.next()).value?.body.case).toBe("helloOk")
  return { cli, server, slow, frames, [Symbol.dispose]: () => cli[Symbol.dispose]() }
}

const memory = (cli: Cli) => treeMemory(cli.child.pid as number)

/** Serves other sockets long enough that the slow one's streams have sent all that they may. */
async function serveOthers(server: Parameters<typeof connectPeer>[0]): Promise<void> {
  const peer = await connectPeer(server)
  for (let i = 0; i < 1_000; i++) expect((await peer.query("SELECT 1")).rows).toEqual([[1n]])
}

test("a reader that stops stalls its streams and not the memory; read on, it gets everything, in turns", async () => {
  using at = await start()
  const { cli, server, slow, frames } = at
  await serveOthers(server)
  const before = memory(cli)
  for (const id of [1, 2, 3]) {
    slow.send(id, { case: "query", value: { sql: large } })
    slow.send(id, { case: "credit", value: { batches: endless } })
  }
  await serveOthers(server)
  expect(memory(cli) - before).toBeLessThan(boundMiB)

  const got = new Map([1, 2, 3].map((id) => [id, 0n]))
  const totals = new Map<number, bigint>()
  let firstDoneAt: bigint[] = []
  while (totals.size < 3) {
    const { value } = await frames.next()
    if (!value) throw new Error("the socket ended")
    const { id, body } = value
    if (body.case === "columnBatch") {
      for (const [x] of rowsOf(body.value)) {
        expect(x).toBe((got.get(id) as bigint) + 1n)
        got.set(id, x as bigint)
      }
    } else if (body.case === "done") {
      if (totals.size === 0) firstDoneAt = [...got.values()]
      totals.set(id, body.value.totalRows)
    } else expect(body.case).toBe("columns")
  }
  expect([...totals.values()]).toEqual([BigInt(rows), BigInt(rows), BigInt(rows)])
  // None had to wait for another's end.
  for (const x of firstDoneAt) expect(x).toBeGreaterThan(BigInt(rows / 2))
  slow.socket.destroy()
})

test("a stalled stream is cancelled, and its socket goes on", async () => {
  using at = await start()
  const { server, slow, frames } = at
  slow.send(1, { case: "query", value: { sql: large } })
  slow.send(1, { case: "credit", value: { batches: endless } })
  await serveOthers(server)
  slow.send(1, { case: "cancel", value: {} })
  slow.send(2, { case: "exec", value: { sql: "CREATE TABLE t(x)" } })
  const ends: [number, string | undefined][] = []
  let before = 0
  for await (const { id, body } of frames) {
    if (body.case === "columnBatch") before += body.value.rows
    if (body.case === "error") ends.push([id, body.value.code])
    if (body.case === "execResult") ends.push([id, undefined])
    if (ends.length === 2) break
  }
  expect(ends.sort()).toEqual([
    [1, "canceled"],
    [2, undefined],
  ])
  // What the system's buffers hold, and no more.
  expect(before).toBeGreaterThan(0)
  expect(before).toBeLessThan(rows / 2)
  slow.socket.destroy()
})

test("a peer that asks on and on and reads nothing is not read either", async () => {
  using at = await start()
  const { cli, server, slow, frames } = at
  await serveOthers(server)
  const before = memory(cli)
  const pings = 2_000_000
  let sent = 0
  let held = false
  // Until the kernels' buffers are full in both directions, and nothing more leaves for a second.
  while (sent < pings && !held) {
    for (let i = 0; i < 1000; i++) slow.send(9, { case: "ping", value: { timestampMs: BigInt(sent++) } })
    if (slow.socket.writableLength < 1024 * 1024) continue
    held = await new Promise((resolve) => {
      const timer = setTimeout(() => resolve(true), 1_000)
      slow.socket.once("drain", () => {
        clearTimeout(timer)
        resolve(false)
      })
    })
  }
  expect(held).toBe(true)
  await serveOthers(server)
  expect(memory(cli) - before).toBeLessThan(boundMiB)
  for (let next = 0n; next < BigInt(sent); next++) {
    const { value } = await frames.next()
    if (value?.body.case !== "pong") throw new Error(`${value?.body.case}`)
    if (value.body.value.lastPingTimestampMs !== next) throw new Error(`${value.body.value.lastPingTimestampMs}`)
  }
  slow.socket.destroy()
})
