import { expect, test } from "@playwright/test"
import { AgentDBError, connect, real } from "../../../src/client/index.ts"
import { CloseCode } from "../../../src/link/link.ts"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import { execOk, FakePeer, failure, fakeServer, pair, settle, until } from "./fake-peer.ts"

const terms = { databaseId: "DB_x", token: "t" }

test("Hello carries token and database, and its tip is seen", async () => {
  const [link, far] = createLinkPair()
  const peer = new FakePeer(far)
  peer.tip = 7n
  const db = await connect({ ...terms, link })
  expect(peer.log[0]?.message).toMatchObject({ case: "hello", value: { token: "t", databaseId: "DB_x" } })
  expect(db.databaseId).toBe("DB_x")
  expect(db.tip).toBe(7)
  await db.close()
})

test("exec answers a plain object in a fixed order, and the tip only grows", async () => {
  const { link, peer } = pair(({ requestId }, peer) => peer.exec(requestId, 3n, 2n ** 53n))
  const db = await connect({ ...terms, link })
  peer.tip = 9n
  const result = await db.exec("INSERT INTO t VALUES (?, ?, ?)", [1, "a", real(2)])
  expect(Object.keys(result)).toEqual(["rowsAffected", "lastInsertId", "tip"])
  expect(result).toEqual({ rowsAffected: 3, lastInsertId: 2n ** 53n, tip: 9 })
  peer.tip = 4n
  await db.exec("SELECT 1")
  expect(db.tip).toBe(9)
  const sent = peer.log[1]?.message
  expect(sent).toMatchObject({ case: "exec", value: { sql: "INSERT INTO t VALUES (?, ?, ?)" } })
  expect(sent?.case === "exec" && sent.value.params.map(({ value }) => value)).toEqual([
    { case: "intValue", value: 1n },
    { case: "textValue", value: "a" },
    { case: "doubleValue", value: 2 },
  ])
  await db.close()
})

test("requests go out in call order without waiting for each other", async () => {
  const { link, peer } = pair(() => {})
  const db = await connect({ ...terms, link })
  const calls = [db.exec("A"), db.batch(["B"]), db.query("C").all(), db.exec("D")]
  await settle()
  expect(peer.kinds).toEqual(["exec", "batch", "credit", "query", "credit", "exec"])
  const done = Promise.allSettled(calls)
  await db.close()
  for (const { status } of await done) expect(status).toBe("rejected")
})

test("what cannot be bound rejects with the position, and nothing is sent", async () => {
  const { link, peer } = pair()
  const db = await connect({ ...terms, link })
  const bad = [undefined, new Date(), {}, () => 1, Symbol("s")]
  for (const value of bad) {
    const params = [1, value as never]
    for (const call of [
      () => db.exec("X", params),
      () => db.query("X", params).all(),
      () => db.batch([{ sql: "X", params }]),
    ]) {
      const error = await failure(call())
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toContain("parameter 2")
    }
  }
  expect(await failure(db.exec("X", [2n ** 63n]))).toBeInstanceOf(RangeError)
  expect(await failure(db.exec("X", { a: 1 } as never))).toBeInstanceOf(TypeError)
  expect(await failure(db.query("X", { a: 1 } as never).all())).toBeInstanceOf(TypeError)
  expect(await failure(db.exec(undefined as never))).toBeInstanceOf(TypeError)
  await settle()
  expect(peer.kinds).toEqual([])
  await db.close()
})

test("parameters are taken at the call", async () => {
  const { link, peer } = pair()
  const db = await connect({ ...terms, link })
  const bytes = new Uint8Array([97, 98, 99, 100])
  const stream = db.query("X", [bytes.subarray(1, 3)])
  const running = db.exec("Y", [bytes.subarray(1, 3)])
  bytes.fill(0)
  await Promise.all([stream.all(), running])
  for (const { message } of peer.log) {
    if (message.case !== "exec" && message.case !== "query") continue
    expect(message.value.params[0]?.value).toEqual({ case: "blobValue", value: new Uint8Array([98, 99]) })
  }
  expect(bytes.byteLength).toBe(4)
  await db.close()
})

test("an error keeps code and message, is one of ours, and its stack points here", async () => {
  const { link } = pair(({ requestId, message }, peer) => {
    if (message.case === "batch") peer.error(requestId, "SQLITE_ERROR", "statement 2: no such table: nope")
    else peer.error(requestId, "SQLITE_CONSTRAINT_UNIQUE", "UNIQUE constraint failed: t.u")
  })
  const db = await connect({ ...terms, link })
  const calls = {
    exec: () => db.exec("X"),
    query: () => db.query("X").all(),
    iterate: async () => {
      for await (const _ of db.query("X")) return
    },
    batch: () => db.batch(["X"]),
    begin: () => db.begin(),
    transaction: () => db.transaction(async () => {}),
  }
  for (const [name, call] of Object.entries(calls)) {
    const error = await failure(call())
    expect(error, name).toBeInstanceOf(AgentDBError)
    expect((error as AgentDBError).stack, name).toContain("connection.spec.ts")
    if (name !== "batch") expect(error, name).toMatchObject({ code: "SQLITE_CONSTRAINT_UNIQUE" })
    else expect(error).toMatchObject({ statementIndex: 2, message: "statement 2: no such table: nope" })
  }
  await db.close()
})

test("a frame over the limit is refused here and the socket stays", async () => {
  const { link, peer } = pair()
  const db = await connect({ ...terms, link })
  const large = new Uint8Array(16 * 1024 * 1024)
  expect(await failure(db.exec("X", [large]))).toMatchObject({ code: "resource_exhausted" })
  expect(await failure(db.query("X", [large]).all())).toMatchObject({ code: "resource_exhausted" })
  expect(await failure(db.batch([{ sql: "X", params: [large] }]))).toMatchObject({ code: "resource_exhausted" })
  await db.exec("Y")
  expect(peer.texts).toEqual(["Y"])
  await db.close()
})

test("a refused Hello rejects connect with its code, and the link is closed", async () => {
  const { link, peer } = pair()
  peer.refuses = ({ requestId }) => {
    peer.error(requestId, "unauthenticated", "token expired")
    peer.link.close(CloseCode.policy, "token expired")
    return true
  }
  expect(await failure(connect({ ...terms, link }))).toMatchObject({
    code: "unauthenticated",
    message: "token expired",
  })
})

test("connect can be aborted while the server is silent", async () => {
  const { link, peer } = pair()
  peer.refuses = () => true
  const abort = new AbortController()
  const connecting = failure(connect({ ...terms, link, signal: abort.signal }))
  await settle()
  abort.abort()
  expect(await connecting).toMatchObject({ code: "canceled", name: "AbortError" })
  await until(() => peer.closed !== undefined)
  expect(peer.closed?.code).toBe(CloseCode.normal)
})

test("a token function is asked, and its failure is the caller's", async () => {
  const { link } = pair()
  const token = async () => {
    throw new Error("no token today")
  }
  expect(await failure(connect({ ...terms, token, link }))).toMatchObject({ message: "no token today" })
})

test("close ends what is live, twice is once, and later calls reject at once", async () => {
  const { link, peer } = pair(() => {})
  const db = await connect({ ...terms, link })
  const stream = db.query("SELECT 1")
  const live = [db.exec("X"), db.batch(["X"]), db.begin(), stream.all(), stream.columns(), stream.done]
  const failures = Promise.all(live.map(failure))
  await settle()
  await Promise.all([db.close(), db.close()])
  for (const error of await failures) expect(error).toMatchObject({ code: "closed" })
  const later = [() => db.exec("X"), () => db.batch([]), () => db.begin(), () => db.ping(), () => db.query("X").all()]
  for (const call of [...later, () => db.transaction(async () => {})]) {
    expect(await failure(call())).toMatchObject({ code: "closed" })
  }
  await until(() => peer.closed !== undefined)
  expect(peer.closed).toMatchObject({ code: CloseCode.normal })
})

test("over a single link, its end is disconnected for what was sent and closed for what comes after", async () => {
  const { link, peer } = pair(() => {})
  const db = await connect({ ...terms, link })
  const running = [db.exec("X"), db.query("SELECT 1").all(), db.batch(["X"])].map(failure)
  await settle()
  peer.link.close(CloseCode.goingAway, "bye")
  for (const error of await Promise.all(running)) expect(error).toMatchObject({ code: "disconnected" })
  expect(await failure(db.exec("Y"))).toMatchObject({ code: "closed" })
  expect(await failure(db.begin())).toMatchObject({ code: "closed" })
  await db.close()
})

test("an answer that no request can have is invalid_response, and the socket stays", async () => {
  const { link, peer } = pair(({ requestId, message }, peer) => {
    if (message.case === "exec" && message.value.sql === "X") peer.columns(requestId, "a")
    else if (message.case === "query") peer.ints(requestId, 1)
    else execOk({ requestId, message } as never, peer)
  })
  const db = await connect({ ...terms, link })
  expect(await failure(db.exec("X"))).toMatchObject({ code: "invalid_response" })
  expect(await failure(db.query("SELECT 1").all())).toMatchObject({ code: "invalid_response" })
  await db.exec("Y")
  // The server may still be answering what nobody reads.
  expect(peer.kinds.filter((kind) => kind === "cancel")).toHaveLength(2)
  await db.close()
})

test("bytes that are no frame end the socket with 1007", async () => {
  const { link, peer } = pair(() => {})
  const db = await connect({ ...terms, link })
  const running = failure(db.exec("X"))
  await settle()
  peer.link.send(new Uint8Array([0x22, 0xff]))
  expect(await running).toMatchObject({ code: "invalid_response" })
  await until(() => peer.closed !== undefined)
  expect(peer.closed?.code).toBe(CloseCode.undecodable)
  await db.close()
})

test("frames for unknown requests are ignored", async () => {
  const { link } = pair(({ requestId }, peer) => {
    peer.exec(requestId + 1000)
    peer.send(requestId + 1000, { case: undefined })
    peer.exec(requestId)
    peer.exec(requestId)
  })
  const db = await connect({ ...terms, link })
  await db.exec("X")
  await db.exec("Y")
  await db.close()
})

test("an abort before sends nothing; during it sends Cancel and rejects alike", async () => {
  const { link, peer } = pair(() => {})
  const db = await connect({ ...terms, link })
  const dead = { signal: AbortSignal.abort(new Error("why")) }
  const calls = [
    (o: object) => db.exec("X", [], o),
    (o: object) => db.batch(["X"], o),
    (o: object) => db.query("X", [], o).all(),
    (o: object) => db.query("X", [], o).columns(),
  ]
  for (const call of [...calls, (o: object) => db.begin(o), (o: object) => db.transaction(async () => {}, o)]) {
    expect(await failure(call(dead))).toMatchObject({ code: "canceled", name: "AbortError" })
  }
  await settle()
  expect(peer.kinds).toEqual([])
  for (const call of calls) {
    const abort = new AbortController()
    const running = failure(call({ signal: abort.signal }))
    await settle()
    abort.abort()
    expect(await running).toMatchObject({ code: "canceled", name: "AbortError" })
  }
  await settle()
  expect(peer.kinds.filter((kind) => kind === "cancel")).toHaveLength(calls.length)
  await db.close()
})

test("timeoutMs ends a call with deadline_exceeded, and leaves no listener behind", async () => {
  const { link, peer } = pair(({ requestId, message }, peer) => {
    if (message.case === "exec" && message.value.sql === "fast") peer.exec(requestId)
  })
  const db = await connect({ ...terms, link })
  expect(await failure(db.exec("X", [], { timeoutMs: 5 }))).toMatchObject({ code: "deadline_exceeded" })
  expect(await failure(db.query("SELECT 1", [], { timeoutMs: 5 }).all())).toMatchObject({ code: "deadline_exceeded" })
  expect(await failure(db.exec("X", [], { timeoutMs: 0 }))).toMatchObject({ code: "deadline_exceeded" })
  expect(await failure(db.exec("X", [], { timeoutMs: Number.NaN }))).toBeInstanceOf(TypeError)
  await settle()
  expect(peer.kinds.filter((kind) => kind === "cancel")).toHaveLength(2)
  let listeners = 0
  const signal = new AbortController().signal
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++
    addEventListener.apply(signal, args)
  }
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--
    removeEventListener.apply(signal, args)
  }
  await db.exec("fast", [], { signal, timeoutMs: 2 ** 40 })
  expect(listeners).toBe(0)
  await db.close()
})

test("ping measures a round trip", async () => {
  const { link } = pair()
  const db = await connect({ ...terms, link })
  expect(await db.ping()).toBeGreaterThanOrEqual(0)
  await db.close()
})

test("the client pings by the server's terms and stops when it is closed", async () => {
  const { link, peer } = pair()
  peer.pingIntervalMs = 5
  const db = await connect({ ...terms, link })
  const pings = () => peer.log.filter(({ message }) => message.case === "ping").length
  await until(() => pings() >= 3)
  await db.close()
  await settle()
  const after = pings()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(pings()).toBe(after)
})

test("a peer that falls silent is given up with 1008", async () => {
  const { link, peer } = pair(() => {})
  peer.pingIntervalMs = 5
  peer.pingTimeoutMs = 40
  peer.answersPing = false
  const db = await connect({ ...terms, link })
  expect(await failure(db.exec("X"))).toMatchObject({ code: "disconnected" })
  await until(() => peer.closed !== undefined)
  expect(peer.closed?.code).toBe(CloseCode.policy)
  await db.close()
})

test("any frame counts as life", async () => {
  const { link, peer } = pair(() => {})
  peer.pingIntervalMs = 5
  peer.pingTimeoutMs = 60
  peer.answersPing = false
  const db = await connect({ ...terms, link })
  const running = db.exec("X")
  const beat = setInterval(() => peer.send(4_000_000, { case: "pong", value: {} }), 10)
  await new Promise((resolve) => setTimeout(resolve, 250))
  expect(peer.closed).toBeUndefined()
  clearInterval(beat)
  const id = peer.log.find(({ message }) => message.case === "exec")?.requestId ?? -1
  peer.exec(id)
  await running
  await db.close()
})

test("batch: results by statement, rows as all() gives them, one Done", async () => {
  const { link, peer } = pair(({ requestId, message }, peer) => {
    if (message.case !== "batch") return
    peer.tip = 5n
    peer.exec(requestId, 2n, 8n)
    peer.columns(requestId, "n")
    peer.ints(requestId, 1, 2)
    peer.ints(requestId, 3)
    peer.columns(requestId, "a", "a")
    peer.exec(requestId, 0n)
    peer.done(requestId, 3n)
  })
  const db = await connect({ ...terms, link })
  expect(await db.batch(["A", { sql: "B", params: [1] }, "C", "D"])).toEqual({
    tip: 5,
    results: [
      { rowsAffected: 2, lastInsertId: 8, tip: 5 },
      { columns: ["n"], rows: [{ n: 1 }, { n: 2 }, { n: 3 }] },
      { columns: ["a", "a"], rows: [] },
      { rowsAffected: 0, lastInsertId: 0, tip: 5 },
    ],
  })
  await settle()
  const credits = peer.log.map(({ message }) => (message.case === "credit" ? message.value.batches : 0)).filter(Boolean)
  expect(credits[0]).toBe(4)
  await db.close()
})

test("batch: a server that answers once for the whole is understood", async () => {
  const { link } = pair(({ requestId, message }, peer) => {
    if (message.case === "batch") peer.exec(requestId, 3n)
  })
  const db = await connect({ ...terms, link })
  expect(await db.batch(["A", "B", "C"])).toEqual({ tip: 0, results: [{ rowsAffected: 3, lastInsertId: 0, tip: 0 }] })
  await db.close()
})

test("batch: an answer that comes slowly is waited for", async () => {
  const { link, peer } = pair(({ requestId, message }, peer) => {
    if (message.case !== "batch") return
    peer.exec(requestId, 1n)
    setTimeout(() => {
      peer.exec(requestId, 2n)
      peer.done(requestId)
    }, 60)
  })
  peer.answersPing = false
  const db = await connect({ ...terms, link })
  expect((await db.batch(["A", "B"])).results).toHaveLength(2)
  await db.close()
})

test("batch: an answer that goes on before the Pong is not taken for a short one", async () => {
  let batch = -1
  const { link, peer } = pair(({ requestId, message }, peer) => {
    if (message.case === "batch") {
      batch = requestId
      peer.exec(batch, 1n)
    } else if (message.case === "ping") {
      peer.exec(batch, 2n)
      peer.send(requestId, { case: "pong", value: {} })
      setTimeout(() => peer.done(batch), 20)
    }
  })
  peer.answersPing = false
  const db = await connect({ ...terms, link })
  expect((await db.batch(["A", "B"])).results).toHaveLength(2)
  await db.close()
})

test("cancels reach a busy worker through the ring, ids and all", async () => {
  const { link, peer } = pair(() => {})
  const db = await connect({ ...terms, link })
  const sab = peer.signals.find((notice) => "sab" in notice)
  if (!sab || !("sab" in sab)) throw new Error("no ring was announced")
  const { CancelRingReader } = await import("../../../src/link/cancel-ring.ts")
  const ring = new CancelRingReader(sab.sab)
  const abort = new AbortController()
  const running = failure(db.exec("X", [], { signal: abort.signal }))
  await settle()
  abort.abort()
  await running
  const id = peer.log.find(({ message }) => message.case === "exec")?.requestId
  expect(ring.drain()).toEqual([id])
  expect(ring.drain()).toEqual([])
  await db.close()
})

test("a factory's connection does not hold what the link source throws against later calls", async () => {
  const server = fakeServer()
  let down = true
  const link = () => {
    if (down) throw new Error("not yet")
    return server.link()
  }
  const failed = await failure(connect({ ...terms, link, reconnect: { maxWaitMs: 30, minDelayMs: 1 } }))
  expect(failed).toMatchObject({ code: "unavailable", message: "not yet" })
  setTimeout(() => {
    down = false
  }, 20)
  const db = await connect({ ...terms, link, reconnect: { maxWaitMs: 4_000, minDelayMs: 1 } })
  await db.exec("X")
  await db.close()
})

test("connect with an aborted signal dials nothing", async () => {
  const server = fakeServer()
  const signal = AbortSignal.abort()
  expect(await failure(connect({ ...terms, link: server.link, signal }))).toMatchObject({ code: "canceled" })
  expect(server.peers).toHaveLength(0)
})

test("an idle connection's timers do not hold the process open", async () => {
  const held = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length
  const before = held()
  const server = fakeServer()
  const db = await connect({ ...terms, link: server.link })
  await db.exec("A")
  await db.transaction((tx) => tx.exec("B"))
  await settle()
  expect(held()).toBe(before)
  await db.close()
})
