import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expect, test } from "@playwright/test"
import fc from "fast-check"
import { macrotask } from "../../../src/link/macrotask.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { startEngine } from "../../fixtures/engine.ts"
import { OracleClientMessage } from "../../fixtures/oracle.ts"
import { WirePeer } from "../../fixtures/wire-peer.ts"
import { type Event, life } from "../../fuzz/frames.ts"
import { FuzzService, type Watched } from "../../fuzz/fuzz-service.ts"
import { check, timeFor, within } from "../../fuzz/runs.ts"
import { Uncaught } from "../../fuzz/uncaught.ts"

const runs = 400
const limits = {
  maxFrameBytes: 65_536,
  firstBatchBytes: 1,
  batchBytes: 300,
  statementMs: 300,
  maintenanceMs: 2000,
  captureBytes: 100_000,
  openStreams: 6,
  queueFrames: 12,
  writeWaitMs: 1e9,
  pingTimeoutMs: 1e9,
  txIdleMs: 1e9,
  txTotalMs: 1e9,
}

const readUrl = (url: string): boolean => {
  if (url === "blob:throws") throw new Error("cannot be read")
  return url !== "blob:dead"
}

async function start() {
  const storage = new MemoryStorage()
  const at = await FuzzService.start(await startEngine(storage), storage, limits, readUrl)
  const { databaseId } = await at.management.create()
  const healthy = new WirePeer(at.socket().link)
  await healthy.hello(at.token(), databaseId)
  await healthy.exec("CREATE TABLE witness(n)")
  return { at, databaseId, healthy }
}

type Stage = Awaited<ReturnType<typeof start>>

const client = (
  requestId: number,
  message: NonNullable<ConstructorParameters<typeof OracleClientMessage>[0]>["message"],
) => new Uint8Array(new OracleClientMessage({ requestId, ...(message && { message }) }).toBinary())

async function live({ at, databaseId }: Stage, events: readonly Event[]): Promise<Watched> {
  const socket = at.socket()
  const { link } = socket
  for (const event of events) {
    switch (event.do) {
      case "send":
        link.send(event.bytes.slice())
        break
      case "hello": {
        const token = event.token === "good" ? at.token() : event.token
        const id = event.database === "real" ? databaseId : event.database
        link.send(client(event.id, { case: "hello", value: { token, databaseId: id } }))
        break
      }
      case "signal":
        link.signal(event.notice)
        break
      case "wait":
        for (let i = 0; i < 10; i++) await new Promise<void>(macrotask)
        break
      case "close":
        link.close()
    }
  }
  return socket
}

/** Gives credit and ends the transaction until every request has its last frame. */
async function drain({ link, monitor }: Watched): Promise<void> {
  for (let round = 0; !monitor.closed; round++) {
    const busy = monitor.live
    if (round > 0 && busy.length === 0 && monitor.pings === 0) return
    for (const id of busy) link.send(client(id, { case: "credit", value: { batches: 1000 } }))
    if (!busy.includes(77)) link.send(client(77, { case: "rollback", value: {} }))
    for (let i = 0; i < 20; i++) await new Promise<void>(macrotask)
  }
}

async function witness({ healthy }: Stage): Promise<void> {
  const { error } = await healthy.exec("INSERT INTO witness VALUES(1)")
  if (error) throw new Error(`the healthy socket got ${error.code}: ${error.message}`)
}

test("nonsense on one socket: every answer and close as the protocol has it, nothing uncaught, and another socket is served", async () => {
  test.setTimeout(timeFor(runs, 100))
  using uncaught = new Uncaught()
  let stage = await start()
  let lives = 0
  await check(runs, life, async (events) => {
    if (lives++ % 50 === 0) stage = await start()
    try {
      const socket = await live(stage, events)
      const { rows } = await within("a read beside nonsense", stage.healthy.query("SELECT 1"))
      expect(rows).toEqual([[1n]])
      if (socket.monitor.closed || events.some((event) => event.do === "hello")) {
        await within("the end of every request", drain(socket))
      }
      socket.link.close()
      await within("a write after nonsense", witness(stage))
      stage.at.checkMonitors()
      uncaught.check()
    } catch (error) {
      lives = 0
      throw error
    }
    stage.at.monitors.splice(1)
  })
})

test("sockets that spoke nonsense leave nothing in memory", async () => {
  test.setTimeout(timeFor(runs, 100))
  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc") as () => void
  const stage = await start()
  const held = async (seed: number): Promise<number> => {
    for (const events of fc.sample(life, { seed, numRuns: 300 })) {
      const socket = await live(stage, events)
      for (let i = 0; i < 5; i++) await new Promise<void>(macrotask)
      socket.link.close()
      stage.at.monitors.splice(1)
    }
    await witness(stage)
    stage.healthy.log.length = 0
    gc()
    return process.memoryUsage().heapUsed
  }
  await held(1)
  const before = await held(2)
  const growth = (await held(3)) - before
  expect(growth).toBeLessThan(1_500_000)
})
