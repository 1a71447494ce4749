import { expect, test } from "@playwright/test"
import { CloseCode } from "../../../src/link/link.ts"
import { macrotask } from "../../../src/link/macrotask.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import type { Storage } from "../../../src/storage/storage.ts"
import { AgentDBError } from "../../../src/wire/errors.ts"
import { TestService, token } from "../../fixtures/service.ts"
import { settle, type WirePeer } from "../../fixtures/wire-peer.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

const oneRow = { firstBatchBytes: 1, batchBytes: 1 }
const count = (n: number) => `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT ${n}) SELECT x FROM c`
const sayHello = (peer: WirePeer, id: string, requestId?: number) =>
  peer.request({ case: "hello", value: { token: token(), databaseId: id } }, {}, requestId)

/** Memory storage whose databases open when the gate does. */
class GatedStorage extends MemoryStorage {
  gate = Promise.resolve()

  override async open(...args: Parameters<Storage["open"]>) {
    await this.gate
    return super.open(...args)
  }
}

/** A service whose Hellos are being checked until `letPass` or `refuse` is called. */
async function start(limits: Parameters<typeof TestService.start>[0] = {}) {
  const storage = new GatedStorage()
  const first = await TestService.start({}, { storage })
  await first.service.close()
  const at = await TestService.start(limits, { storage })
  let letPass = () => {}
  let refuse = (_: AgentDBError) => {}
  storage.gate = new Promise((resolve, reject) => {
    letPass = resolve
    refuse = reject
  })
  return { at, databaseId: first.databaseId, letPass, refuse, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

const turns = async () => {
  for (let i = 0; i < 20; i++) await new Promise<void>(macrotask)
}

test("whatever is pipelined behind a Hello is answered after the HelloOk: pings, refusals, credit and cancels too", async () => {
  await using service = await start(oneRow)
  const { at, databaseId } = service
  const peer = at.socket()
  const hello = sayHello(peer, databaseId)
  const ping = peer.ping()
  peer.send(50, undefined)
  const again = sayHello(peer, databaseId)
  const doomed = peer.request({ case: "exec", value: { sql: "CREATE TABLE never(x)" } })
  peer.cancel(doomed.id)
  const stream = peer.request({ case: "query", value: { sql: count(6) } }, { credits: [2] })
  await turns()
  expect(peer.log).toEqual([])
  service.letPass()
  expect((await hello.answer).kinds).toEqual(["helloOk"])
  expect((await ping).kinds).toEqual(["pong"])
  expect((await again.answer).error?.code).toBe("failed_precondition")
  expect((await doomed.answer).error?.code).toBe("canceled")
  expect((await stream.answer).done?.totalRows).toBe(6n)
  expect(peer.kinds(50)).toEqual(["error"])
  expect(peer.log[0]?.body.case).toBe("helloOk")
  expect((await peer.query("SELECT count(*) FROM sqlite_schema")).rows).toEqual([[0n]])
})

test("behind a Hello that is refused nothing is answered, not even a Ping", async () => {
  await using service = await start()
  const peer = service.at.socket()
  const hello = sayHello(peer, service.databaseId)
  void peer.ping()
  peer.send(50, undefined)
  void peer.query("SELECT 1")
  await turns()
  service.refuse(new AgentDBError("data_loss", "damaged"))
  expect((await hello.answer).error?.code).toBe("data_loss")
  expect(await peer.closed).toMatchObject({ code: CloseCode.policy })
  expect(peer.log.map(({ id }) => id)).toEqual([hello.id])
})

test("a request with the id of a Hello that is still being checked closes with 1008", async () => {
  await using service = await start()
  const peer = service.at.socket()
  sayHello(peer, service.databaseId, 7)
  peer.send(7, { case: "query", value: { sql: "SELECT 1" } })
  expect(await peer.closed).toMatchObject({ code: CloseCode.policy, reason: expect.stringContaining("request_id 7") })
  service.letPass()
})

test("by default a client is to ping every 5 seconds, and is given up after 150 without a frame, greeted or not", async () => {
  const clock = new HandClock()
  await using at = await TestService.start({}, { clock })
  const [fresh, greeted, lively] = [at.socket(), await at.connect(), await at.connect()]
  expect(greeted.log[0]?.body).toMatchObject({
    case: "helloOk",
    value: { pingIntervalMs: 5_000, pingTimeoutMs: 150_000 },
  })
  const closed: string[] = []
  void fresh.closed.then(({ code }) => closed.push(`fresh ${code}`))
  void greeted.closed.then(({ code }) => closed.push(`greeted ${code}`))
  void lively.closed.then(({ code }) => closed.push(`lively ${code}`))
  await clock.advance(149_000)
  await lively.ping()
  expect(closed).toEqual([])
  await clock.advance(2_000)
  await lively.ping()
  expect(closed.sort()).toEqual(["fresh 1008", "greeted 1008"])
  await clock.advance(147_000)
  await lively.ping()
  expect(closed).toHaveLength(2)
})

test("time in which the worker was busy never counts: what is queued is read before a peer is judged", async () => {
  await using at = await TestService.start({ pingTimeoutMs: 300 })
  const peer = await at.connect()
  let closed: unknown
  void peer.closed.then((close) => {
    closed = close
  })
  for (let round = 0; round < 3; round++) {
    // Sent in time, and read only after the timeout has passed.
    const pong = peer.ping()
    const until = performance.now() + 500
    while (performance.now() < until) {}
    expect((await Promise.race([pong, peer.closed.then(() => undefined)]))?.kinds).toEqual(["pong"])
    await new Promise<void>(macrotask)
  }
  expect(closed).toBeUndefined()
})

test("streams that run on starve no ping, no request and no stream, of their own socket or of another", async () => {
  await using at = await TestService.start(oneRow)
  const [a, b] = [await at.connect(), await at.connect()]
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
  const running = [1, 2, 3].map(() => a.request({ case: "query", value: { sql: endless } }, { credits: [0xffff_ffff] }))
  await settle(a)
  await settle(b)
  for (const peer of [a, b]) {
    expect((await peer.exec("CREATE TABLE IF NOT EXISTS t(x)")).error).toBeUndefined()
    expect((await peer.query(count(50))).done?.totalRows).toBe(50n)
  }
  const progress = running.map(({ id }) => a.kinds(id).length)
  await settle(b)
  for (const [i, { id }] of running.entries()) expect(a.kinds(id).length).toBeGreaterThan(progress[i] as number)
  for (const { id } of running) a.cancel(id)
  for (const { answer } of running) expect((await answer).error?.code).toBe("canceled")
})
