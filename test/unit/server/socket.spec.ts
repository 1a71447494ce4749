import { expect, test } from "@playwright/test"
import { SignJWT } from "jose"
import { CloseCode } from "../../../src/link/link.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import type { Storage } from "../../../src/storage/storage.ts"
import { TestService, token } from "../../fixtures/service.ts"
import type { WirePeer } from "../../fixtures/wire-peer.ts"

test("the first frame must be a Hello", async () => {
  await using at = await TestService.start()
  const peer = at.socket()
  peer.request({ case: "query", value: { sql: "SELECT 1" } })
  expect(await peer.closed).toMatchObject({ code: CloseCode.policy })
  expect(peer.log).toEqual([])
})

test("Hello carries the tip and the ping terms", async () => {
  await using at = await TestService.start({ pingIntervalMs: 1234, pingTimeoutMs: 5678 })
  const peer = at.socket()
  await peer.hello(token(), at.databaseId)
  expect(peer.log[0]?.body).toMatchObject({
    case: "helloOk",
    value: { tip: 0n, pingIntervalMs: 1234, pingTimeoutMs: 5678 },
  })
})

test("a refused Hello is an Error on its request_id, then close 1008, and what was pipelined is dropped unanswered", async () => {
  await using at = await TestService.start({}, { keys: { devkey: "secret", other: "secret2" } })
  const exp = Math.floor(Date.now() / 1000) + 60
  const sign = (claims: Record<string, unknown>, secret: string) =>
    new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(secret))
  const grant = { agent: { databaseAdmin: true } }
  const cases: [string, string, string, RegExp][] = [
    ["", at.databaseId, "unauthenticated", /missing/],
    [await sign({ iss: "devkey", exp: exp - 200, ...grant }, "secret"), at.databaseId, "unauthenticated", /expired/],
    [await sign({ iss: "devkey", exp, ...grant }, "wrong"), at.databaseId, "unauthenticated", /signature/],
    [await sign({ iss: "devkey", exp }, "secret"), at.databaseId, "unauthenticated", /grant/],
    [token(), "DB_222222222222", "not_found", /no such/],
    [token(), "../x", "not_found", /no such/],
    [token(), "", "invalid_argument", /database_id/],
    [token("other", "secret2"), at.databaseId, "not_found", /no such/],
  ]
  for (const [given, id, code, message] of cases) {
    const peer = at.socket()
    const hello = peer.request({ case: "hello", value: { token: given, databaseId: id } })
    const piped = peer.request({ case: "exec", value: { sql: "CREATE TABLE never(x)" } })
    expect((await hello.answer).error).toMatchObject({ code, message: expect.stringMatching(message) })
    expect(await peer.closed).toMatchObject({ code: CloseCode.policy })
    expect(peer.kinds(piped.id)).toEqual([])
  }
  const peer = await at.connect()
  expect((await peer.query("SELECT count(*) FROM sqlite_schema")).rows).toEqual([[0n]])
})

test("frames pipelined behind a Hello wait for it", async () => {
  await using at = await TestService.start()
  const peer = at.socket()
  const hello = peer.request({ case: "hello", value: { token: token(), databaseId: at.databaseId } })
  const [created, inserted, read] = [
    peer.exec("CREATE TABLE t(x)"),
    peer.exec("INSERT INTO t VALUES(1)"),
    peer.query("SELECT x FROM t"),
  ]
  expect((await hello.answer).kinds).toEqual(["helloOk"])
  expect((await created).execs[0]?.tip).toBe(1n)
  expect((await inserted).execs[0]).toMatchObject({ rowsAffected: 1n, lastInsertId: 1n, tip: 2n })
  expect((await read).rows).toEqual([[1n]])
})

/** Storage that takes its time, as a disk does. */
class SlowStorage extends MemoryStorage {
  override async open(...args: Parameters<Storage["open"]>) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    return super.open(...args)
  }
}

async function startSlow() {
  const storage = new SlowStorage()
  await using before = await TestService.start({}, { storage })
  const { databaseId } = before
  return { at: await TestService.start({}, { storage }), databaseId }
}

test("nothing is answered before the HelloOk, a Ping no more than a request; a refused Hello leaves them all unanswered", async () => {
  const { at, databaseId } = await startSlow()
  await using _ = at
  for (const id of [databaseId, "DB_222222222222"]) {
    const peer = at.socket()
    const hello = peer.hello(token(), id)
    void peer.ping()
    void peer.hello(token(), id)
    const canceled = peer.request({ case: "query", value: { sql: "SELECT 1" } })
    peer.cancel(canceled.id)
    peer.link.send(new Uint8Array([0x08, 50]))
    await hello
    if (id === databaseId) {
      await peer.ping()
      expect(peer.log.map(({ body }) => body.case)).toEqual(["helloOk", "pong", "error", "error", "error", "pong"])
    } else {
      await peer.closed
      expect(peer.log.map(({ body }) => body.case)).toEqual(["error"])
    }
  }
})

test("a request_id that is live closes with 1008 whatever comes under it: the Hello's own, a second Hello, no known kind", async () => {
  const { at, databaseId } = await startSlow()
  await using _ = at
  const early = at.socket()
  void early.request({ case: "hello", value: { token: token(), databaseId } }, {}, 4)
  early.send(4, { case: "query", value: { sql: "SELECT 1" } })
  expect(await early.closed).toMatchObject({ code: CloseCode.policy, reason: expect.stringContaining("request_id 4") })
  expect(early.log).toEqual([])
  const again: ((peer: WirePeer) => void)[] = [
    (peer) => peer.send(9, { case: "hello", value: { token: token(), databaseId } }),
    (peer) => peer.link.send(new Uint8Array([0x08, 9])),
  ]
  for (const take of again) {
    const peer = await at.connect()
    const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
    peer.request({ case: "query", value: { sql: endless } }, { credits: [] }, 9)
    take(peer)
    expect(await peer.closed).toMatchObject({ code: CloseCode.policy, reason: expect.stringContaining("request_id 9") })
    expect(peer.kinds(9)).not.toContain("error")
  }
})

test("a second Hello is failed_precondition and the socket stays", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  expect((await peer.hello(token(), at.databaseId)).error?.code).toBe("failed_precondition")
  expect((await peer.query("SELECT 1")).rows).toEqual([[1n]])
})

test("a token that expires later does not sever the socket", async () => {
  let now = Date.now()
  const after = (ms: number, task: () => void) => {
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  }
  await using at = await TestService.start({}, { clock: { now: () => now, after } })
  const peer = await at.connect()
  now += 30 * 86_400_000
  expect((await peer.query("SELECT 1")).rows).toEqual([[1n]])
})

test("an undecodable frame closes with 1007, one over the limit with 1009, and neither harms another socket", async () => {
  await using at = await TestService.start({ maxFrameBytes: 100_000 })
  const healthy = await at.connect()
  const garbled = await at.connect()
  garbled.link.send(new Uint8Array([0xff, 0xff, 0xff]))
  expect(await garbled.closed).toMatchObject({ code: CloseCode.undecodable })
  const large = await at.connect()
  large.request({ case: "query", value: { sql: `SELECT '${"x".repeat(100_000)}'` } })
  expect(await large.closed).toMatchObject({ code: CloseCode.tooBig })
  expect((await healthy.query("SELECT 1")).rows).toEqual([[1n]])
})

test("an unset oneof is unimplemented and a language other than SQL invalid_argument; the socket stays", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  peer.link.send(new Uint8Array([0x08, 50]))
  await peer.ping()
  expect(peer.log.find(({ id }) => id === 50)?.body).toMatchObject({ case: "error", value: { code: "unimplemented" } })
  const lang = await peer.request({ case: "query", value: { sql: "SELECT 1", lang: 1 as 0 } }).answer
  expect(lang.error?.code).toBe("invalid_argument")
  expect((await peer.query("SELECT 1")).rows).toEqual([[1n]])
})

test("request_id 0 is legal, an ended one may be used again, and a live one closes with 1008", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const query = { case: "query", value: { sql: "SELECT 5" } } as const
  for (let i = 0; i < 2; i++) expect((await peer.request(query, {}, 0).answer).rows).toEqual([[5n]])
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
  peer.request({ case: "query", value: { sql: endless } }, { credits: [] }, 9)
  peer.send(9, query)
  expect(await peer.closed).toMatchObject({ code: CloseCode.policy, reason: expect.stringContaining("request_id 9") })
})

test("Pong echoes request_id and timestamp, and is answered while streams are paused", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
  const paused = peer.request({ case: "query", value: { sql: endless } }, { credits: [] })
  const before = Date.now()
  const { kinds } = await peer.ping()
  expect(kinds).toEqual(["pong"])
  const pong = peer.log.find(({ body }) => body.case === "pong")?.body
  if (pong?.case !== "pong") throw new Error("no pong")
  expect(pong.value.lastPingTimestampMs).toBe(7n)
  expect(Number(pong.value.timestampMs)).toBeGreaterThanOrEqual(before)
  peer.cancel(paused.id)
  expect((await paused.answer).error?.code).toBe("canceled")
})

test("a socket from which nothing comes is closed, though a stream runs on it; one that pings stays", async () => {
  await using at = await TestService.start({ pingTimeoutMs: 400 })
  const silent = await at.connect()
  const lively = await at.connect()
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
  silent.request({ case: "query", value: { sql: endless } }, { credits: [100_000] })
  const pings = setInterval(() => void lively.ping(), 100)
  expect(await silent.closed).toMatchObject({ code: CloseCode.policy })
  await new Promise((resolve) => setTimeout(resolve, 500))
  clearInterval(pings)
  expect((await lively.query("SELECT 1")).rows).toEqual([[1n]])
})

test("the queue of a socket is bounded: the request that went over gets resource_exhausted, those before it run", async () => {
  await using at = await TestService.start({ queueFrames: 3 })
  const peer = await at.connect()
  const other = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await other.begin()
  // The first waits for the turn, three are queued behind it, the fifth goes over.
  const sent = [1, 2, 3, 4, 5].map((i) => peer.exec(`INSERT INTO t VALUES(${i})`))
  expect((await sent[4])?.error?.code).toBe("resource_exhausted")
  await other.rollback()
  for (const answer of sent.slice(0, 4)) expect((await answer).error).toBeUndefined()
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[4n]])
})

test("requests still queued when a socket is lost never run", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const other = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await other.begin()
  void peer.exec("INSERT INTO t VALUES(1)")
  void peer.exec("INSERT INTO t VALUES(2)")
  await peer.ping()
  peer.link.close()
  await other.ping()
  await other.rollback()
  expect((await other.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
})

test("closing the service closes sockets with 1001, and a socket that comes later too", async () => {
  const at = await TestService.start()
  const peer = await at.connect()
  await at[Symbol.asyncDispose]()
  expect(await peer.closed).toMatchObject({ code: CloseCode.goingAway })
  expect(await at.socket().closed).toMatchObject({ code: CloseCode.goingAway })
})
