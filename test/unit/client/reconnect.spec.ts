import { expect, test } from "@playwright/test"
import { connect } from "../../../src/client/index.ts"
import { backoffMs } from "../../../src/client/reconnect.ts"
import { execOk, type FakePeer, failure, fakeServer, type Script, settle } from "./fake-peer.ts"

const terms = { databaseId: "DB_x", token: "t" }
const quick = { minDelayMs: 1, maxDelayMs: 5 }

/** Runs `first` on the first link and answers well on every later one. */
function serverWith(first: Script, prepare?: (peer: FakePeer, index: number) => void) {
  return fakeServer(execOk, (peer, index) => {
    if (index === 0) peer.script = first
    prepare?.(peer, index)
  })
}

test("a lost socket is replaced, the token asked for again, and calls go on", async () => {
  const server = fakeServer()
  let asked = 0
  const token = () => `token ${++asked}`
  const db = await connect({ ...terms, token, link: server.link, reconnect: quick })
  await db.exec("A")
  server.peers[0]?.link.close(1001, "handover")
  await settle()
  await db.exec("B")
  expect(server.peers[1]?.texts).toEqual(["B"])
  expect(server.peers[1]?.log[0]?.message).toMatchObject({ value: { token: "token 2" } })
  await db.close()
})

test("what was in flight is disconnected and never repeated; a read that yielded nothing is asked again", async () => {
  const server = serverWith(() => {})
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  const writes = [db.exec("W"), db.batch(["W"]), db.query("INSERT INTO t VALUES (1) RETURNING id").all()].map(failure)
  const reads = [
    db.query("SELECT 1").all(),
    db.query("/* a */ with c as (select 1) select * from c").first(),
    db.query("VALUES (1)").columns(),
  ]
  await settle()
  server.peers[0]?.link.close(1001, "handover")
  for (const error of await Promise.all(writes)) expect(error).toMatchObject({ code: "disconnected" })
  expect(await Promise.all(reads)).toEqual([[{ n: 1 }, { n: 2 }], { n: 1 }, ["n"]])
  expect(server.peers[1]?.texts.filter((text) => text === "W" || text === "batch" || /INSERT/.test(text))).toEqual([])
  await db.close()
})

test("a stream that has yielded is disconnected", async () => {
  const server = serverWith(({ requestId, message }, peer) => {
    if (message.case !== "query") return
    peer.columns(requestId, "n")
    peer.ints(requestId, 1)
    if (message.value.sql === "SELECT close") peer.link.close(1001)
  })
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  const rows = db.query("SELECT 1")[Symbol.asyncIterator]()
  expect((await rows.next()).value).toEqual({ n: 1 })
  const named = db.query("SELECT 2")
  expect(await named.columns()).toEqual(["n"])
  server.peers[0]?.link.close(1001)
  expect(await failure(rows.next())).toMatchObject({ code: "disconnected" })
  expect(await failure(named.all().then(() => named.done))).toMatchObject({ code: "disconnected" })
  await db.close()
})

test("all() starts anew, so no row comes twice", async () => {
  const server = serverWith(({ requestId, message }, peer) => {
    if (message.case !== "query") return
    peer.columns(requestId, "old")
    peer.ints(requestId, 7)
    peer.ints(requestId, 8)
    setTimeout(() => peer.link.close(1001), 5)
  })
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  const stream = db.query("SELECT 1")
  const { done } = stream
  expect(await stream.all()).toEqual([{ n: 1 }, { n: 2 }])
  expect(await done).toMatchObject({ totalRows: 2 })
  await db.close()
})

test("1011 may be the fault of the query itself: it is not asked again", async () => {
  const server = serverWith((_, peer) => peer.link.close(1011, "worker restarted"))
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  expect(await failure(db.query("SELECT 1").all())).toMatchObject({ code: "disconnected" })
  await db.exec("after")
  await db.close()
})

test("a query that kills every server gives up", async () => {
  let asked = 0
  const server = fakeServer(({ message }, peer) => {
    if (message.case !== "query") return
    asked++
    peer.link.close(1006)
  })
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  expect(await failure(db.query("SELECT 1").all())).toMatchObject({ code: "disconnected" })
  expect(asked).toBe(3)
  await db.close()
})

test("handovers are no deaths: a query goes with the service more often", async () => {
  let asked = 0
  const server = fakeServer((frame, peer) => {
    if (frame.message.case !== "query" || ++asked > 6) execOk(frame, peer)
    else peer.link.close(1001, "handover")
  })
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  expect(await db.query("SELECT 1").all()).toHaveLength(2)
  expect(asked).toBe(7)
  await db.close()
})

test("unavailable at a handover is asked again; from the write turn it is not", async () => {
  const refuse: Script = ({ requestId }, peer) => {
    peer.error(requestId, "unavailable", "handover")
    peer.link.close(1001, "handover")
  }
  for (const call of ["exec", "batch", "query", "begin"] as const) {
    const server = fakeServer(execOk, (peer, index) => {
      if (index === (call === "begin" ? 1 : 0)) peer.script = refuse
    })
    const db = await connect({ ...terms, link: server.link, reconnect: quick })
    if (call === "exec") await db.exec("A")
    else if (call === "batch") await db.batch(["A"])
    else if (call === "query") expect(await db.query("INSERT ... RETURNING").all()).toHaveLength(2)
    else await (await db.begin()).commit()
    await db.close()
  }
  const server = fakeServer(({ requestId, message }, peer) => {
    if (message.case === "exec" || message.case === "begin") peer.error(requestId, "unavailable", "no write turn")
  })
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  expect(await failure(db.exec("A"))).toMatchObject({ code: "unavailable", retryable: true })
  expect(await failure(db.begin())).toMatchObject({ code: "unavailable" })
  expect(server.peers.map((peer) => peer.texts)).toEqual([["A"], ["begin"]])
  await db.close()
})

test("a Hello that is refused as unavailable is asked again; another refusal is final", async () => {
  const refuse = (code: string) => (peer: FakePeer, index: number) => {
    if (index >= 3) return
    peer.refuses = ({ requestId }) => {
      peer.error(requestId, code)
      peer.link.close(1008, code)
      return true
    }
  }
  const patient = fakeServer(execOk, refuse("unavailable"))
  const db = await connect({ ...terms, link: patient.link, reconnect: quick })
  expect(patient.peers).toHaveLength(4)
  await db.close()
  const once = fakeServer(execOk, refuse("unavailable"))
  expect(await failure(connect({ ...terms, link: once.link, reconnect: false }))).toMatchObject({ code: "unavailable" })
  expect(once.peers).toHaveLength(1)
  const final = fakeServer(execOk, refuse("not_found"))
  expect(await failure(connect({ ...terms, link: final.link, reconnect: quick }))).toMatchObject({ code: "not_found" })
  expect(final.peers).toHaveLength(1)
})

test("while the server is away calls wait no longer than maxWaitMs, and the next call tries again", async () => {
  const server = fakeServer()
  let away = false
  const link = () => {
    if (away) throw new Error("away")
    return server.link()
  }
  const db = await connect({ ...terms, link, reconnect: { ...quick, maxWaitMs: 50 } })
  away = true
  server.peers[0]?.link.close(1006)
  await settle()
  expect(await failure(db.exec("A"))).toMatchObject({ code: "unavailable" })
  away = false
  await db.exec("B")
  expect(server.peers[1]?.texts).toEqual(["B"])
  await db.close()
})

test("a refusal at a reconnect reaches the calls that wait, and a later Hello may do better", async () => {
  const server = fakeServer(execOk, (peer, index) => {
    if (index !== 1) return
    peer.refuses = ({ requestId }) => {
      peer.error(requestId, "unauthenticated", "expired")
      peer.link.close(1008)
      return true
    }
  })
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  server.peers[0]?.link.close(1001)
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  const waiting = [db.exec("A"), db.query("SELECT 1").all()].map(failure)
  for (const error of await Promise.all(waiting)) expect(error).toMatchObject({ code: "unauthenticated" })
  await db.exec("C")
  expect(server.peers.map((peer) => peer.texts)).toEqual([[], [], ["C"]])
  await db.close()
})

test("calls that wait for a new socket keep their order", async () => {
  const server = fakeServer()
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  server.peers[0]?.link.close(1001)
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  const calls = ["A", "B", "C", "D"].map((text) => db.exec(text))
  await Promise.allSettled(calls)
  const sent = server.peers.flatMap((peer) => peer.texts)
  expect(sent).toEqual(["A", "B", "C", "D"])
  await db.close()
})

test("a server that drops every socket at once is not dialled in the background for ever", async () => {
  const server = fakeServer(execOk, (peer) => {
    peer.refuses = ({ requestId }) => {
      peer.welcome(requestId)
      peer.link.close(1001)
      return true
    }
  })
  const db = await connect({ ...terms, link: server.link, reconnect: quick })
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(server.peers.length).toBeLessThan(5)
  await db.close()
})

test("reconnect: false makes the end of the socket final", async () => {
  const server = fakeServer()
  const db = await connect({ ...terms, link: server.link, reconnect: false })
  server.peers[0]?.link.close(1001)
  await settle()
  expect(await failure(db.exec("A"))).toMatchObject({ code: "closed" })
  expect(server.peers).toHaveLength(1)
  await db.close()
})

test("close stops a reconnect that is under way", async () => {
  const server = fakeServer()
  let away = false
  const link = () => (away ? new Promise<never>(() => {}) : server.link())
  const db = await connect({ ...terms, link, reconnect: quick })
  away = true
  server.peers[0]?.link.close(1001)
  await settle()
  const waiting = failure(db.exec("A"))
  await db.close()
  expect(await waiting).toMatchObject({ code: "closed" })
})

test("backoff doubles up to its cap, with full jitter", () => {
  const options = { minDelayMs: 50, maxDelayMs: 1_000, maxWaitMs: 4_000 }
  expect([0, 1, 2, 5, 50].map((attempt) => backoffMs(attempt, options, () => 1))).toEqual([50, 100, 200, 1_000, 1_000])
  expect(backoffMs(3, options, () => 0)).toBe(0)
})
