import { expect, test } from "@playwright/test"
import { CancelRingWriter, createCancelRing } from "../../../src/link/cancel-ring.ts"
import { pushLater } from "../../fixtures/ring.ts"
import { TestService } from "../../fixtures/service.ts"
import { settle, type WirePeer } from "../../fixtures/wire-peer.ts"

const count = (n: number) => `WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c LIMIT ${n}) SELECT x FROM c`
const runaway = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c"
const oneRow = { firstBatchBytes: 1, batchBytes: 1 }

const query = (peer: WirePeer, sql: string, credits?: number[]) =>
  peer.request({ case: "query", value: { sql } }, credits ? { credits } : {})

const batches = (peer: WirePeer, id: number) => peer.kinds(id).filter((kind) => kind === "columnBatch").length

test("an initial window of 4, to which Credit adds; 0 is no credit; only batches cost", async () => {
  await using at = await TestService.start(oneRow)
  const peer = await at.connect()
  const stream = query(peer, count(10), [])
  await settle(peer)
  expect(batches(peer, stream.id)).toBe(4)
  peer.credit(stream.id, 0)
  await settle(peer)
  expect(batches(peer, stream.id)).toBe(4)
  peer.credit(stream.id, 2)
  await settle(peer)
  expect(batches(peer, stream.id)).toBe(6)
  peer.credit(stream.id, 4)
  expect((await stream.answer).done?.totalRows).toBe(10n)
  // Exactly the window: nothing more is needed for Done.
  expect((await query(peer, count(4), []).answer).done?.totalRows).toBe(4n)
})

test("credit sent right behind the query counts, also while the query still waits", async () => {
  await using at = await TestService.start(oneRow)
  const [peer, other] = [await at.connect(), await at.connect()]
  await other.exec("CREATE TABLE t(x)")
  await other.begin()
  void peer.exec("INSERT INTO t VALUES(1)")
  const stream = query(peer, count(10), [6])
  await peer.ping()
  await other.rollback()
  expect((await stream.answer).done?.totalRows).toBe(10n)
})

test("credit saturates instead of overflowing", async () => {
  await using at = await TestService.start(oneRow)
  const peer = await at.connect()
  expect((await query(peer, count(50), [0xffff_ffff, 0xffff_ffff]).answer).done?.totalRows).toBe(50n)
})

test("C17 two equal queries side by side, paced one by one, are both whole; stray credit is ignored", async () => {
  await using at = await TestService.start({ initialCredit: 1, firstBatchBytes: 1, batchBytes: 4096 })
  const peer = await at.connect()
  const [a, b] = [query(peer, count(20_000), []), query(peer, count(20_000), [])]
  await settle(peer)
  expect([batches(peer, a.id), batches(peer, b.id)]).toEqual([1, 1])
  peer.credit(4242, 7)
  let done = 0
  const answers = [a, b].map(({ answer }) => answer.finally(() => done++))
  while (done < 2) {
    const before = [batches(peer, a.id), batches(peer, b.id)]
    for (const { id } of [a, b]) peer.credit(id, 1)
    await peer.ping()
    await peer.ping()
    expect(batches(peer, a.id) - (before[0] as number)).toBeLessThanOrEqual(1)
    expect(batches(peer, b.id) - (before[1] as number)).toBeLessThanOrEqual(1)
  }
  for (const answer of answers) {
    const { rows } = await answer
    expect(rows.length).toBe(20_000)
    expect(rows.every(([x], i) => x === BigInt(i))).toBe(true)
  }
  peer.credit(a.id, 5)
  expect((await peer.ping()).kinds).toEqual(["pong"])
})

test("a stream that waits for credit blocks no exec, ping or other stream", async () => {
  await using at = await TestService.start(oneRow)
  const peer = await at.connect()
  const stalled = query(peer, count(100), [])
  await peer.exec("CREATE TABLE t(x)")
  expect((await query(peer, count(20)).answer).done?.totalRows).toBe(20n)
  expect(batches(peer, stalled.id)).toBe(4)
})

test("no more than openStreams at once", async () => {
  await using at = await TestService.start({ ...oneRow, openStreams: 2 })
  const [a, b] = [await at.connect(), await at.connect()]
  const open = [query(a, count(10), []), query(b, count(10), [])]
  await a.ping()
  await b.ping()
  expect((await a.query("SELECT 1")).error?.code).toBe("resource_exhausted")
  a.cancel(open[0]?.id as number)
  await open[0]?.answer
  expect((await a.query("SELECT 1")).rows).toEqual([[1n]])
})

test("a batch counts among them, and so does a writing query that waited while others opened; neither is applied then", async () => {
  await using at = await TestService.start({ ...oneRow, openStreams: 2 })
  const [a, b, c] = [await at.connect(), await at.connect(), await at.connect()]
  await a.exec("CREATE TABLE t(x)")
  await c.begin()
  const insert = { sql: "INSERT INTO t VALUES(1),(2),(3),(4),(5),(6) RETURNING x" }
  const waiting = [a, b].map((peer) => peer.request({ case: "query", value: insert }, { credits: [] }))
  for (const peer of [a, b]) await peer.ping()
  const first = c.request({ case: "batch", value: { statements: [{ sql: count(10) }] } }, { credits: [] })
  await c.ping()
  await c.rollback()
  expect((await waiting[1]?.answer)?.error?.code).toBe("resource_exhausted")
  expect((await c.batch("INSERT INTO t VALUES(7)")).error?.code).toBe("resource_exhausted")
  c.credit(first.id, 10)
  expect((await first.answer).done?.totalRows).toBe(10n)
  expect((await c.query("SELECT count(*) FROM t")).rows).toEqual([[6n]])
})

test("Cancel ends a stream with one Error canceled; unknown and ended ids are ignored", async () => {
  await using at = await TestService.start(oneRow)
  const peer = await at.connect()
  const stream = query(peer, count(1_000_000), [1_000])
  peer.cancel(stream.id)
  peer.cancel(stream.id)
  peer.cancel(31_337)
  const { error } = await stream.answer
  expect(error?.code).toBe("canceled")
  peer.cancel(stream.id)
  await settle(peer)
  expect(peer.kinds(stream.id).filter((kind) => kind === "error" || kind === "done")).toEqual(["error"])
})

test("C51 a queued exec that is cancelled never runs, and those around it do", async () => {
  await using at = await TestService.start()
  const [peer, other] = [await at.connect(), await at.connect()]
  await peer.exec("CREATE TABLE t(x)")
  await other.begin()
  const inserts = [1, 2, 3].map((i) => peer.request({ case: "exec", value: { sql: `INSERT INTO t VALUES(${i})` } }))
  await peer.ping()
  peer.cancel(inserts[0]?.id as number)
  peer.cancel(inserts[2]?.id as number)
  await peer.ping()
  await other.rollback()
  const codes = await Promise.all(inserts.map(async ({ answer }) => (await answer).error?.code))
  expect(codes).toEqual(["canceled", undefined, "canceled"])
  expect((await peer.query("SELECT x FROM t")).rows).toEqual([[2n]])
})

test("the ring interrupts a running statement that produces no rows, and no other", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  const ring = createCancelRing()
  peer.link.signal({ sab: ring })
  for (const request of ["query", "exec"] as const) {
    const target = peer.request({ case: request, value: { sql: runaway } })
    const next = peer.request({ case: "query", value: { sql: count(1000) } })
    pushLater(ring, target.id, 100)
    expect((await target.answer).error?.code).toBe("canceled")
    expect((await next.answer).done?.totalRows).toBe(1000n)
  }
})

test("an id in the ring that meant an ended request does not end a new one of the same id", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const ring = createCancelRing()
  peer.link.signal({ sab: ring })
  const slow = {
    case: "query",
    value: { sql: count(300_000).replace("SELECT x FROM c", "SELECT sum(x) FROM c") },
  } as const
  await peer.request(slow, {}, 500).answer
  new CancelRingWriter(ring).push(500)
  peer.cancel(500)
  expect((await peer.request(slow, {}, 500).answer).rows).toEqual([[44999850000n]])
})

test("an id in the ring that is ahead of its request ends it before it starts", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const ring = createCancelRing()
  peer.link.signal({ sab: ring })
  // A client may cancel before the worker has seen the request.
  const early = peer.request({ case: "query", value: { sql: runaway } }, {}, 500)
  new CancelRingWriter(ring).push(500)
  peer.cancel(500)
  expect((await early.answer).error?.code).toBe("canceled")
  expect((await peer.request({ case: "query", value: { sql: count(3) } }, {}, 500).answer).rows).toHaveLength(3)
})

test("a request URL counts only where the probe can be read", async () => {
  const dead = new Set<string>()
  const reads: string[] = []
  const readUrl = (url: string) => {
    reads.push(url)
    return !dead.has(url)
  }
  await using at = await TestService.start({ statementMs: 700 }, { readUrl })
  const answers = async (probe: string | undefined, url: string) => {
    const peer = await at.connect()
    if (probe !== undefined) peer.link.signal({ probe })
    peer.link.signal({ requestId: 77, url })
    const { error } = await peer.request({ case: "query", value: { sql: runaway } }, {}, 77).answer
    return error?.code
  }
  dead.add("blob:revoked").add("blob:unreadable")
  expect(await answers("blob:probe", "blob:revoked")).toBe("canceled")
  expect(await answers("blob:unreadable", "blob:revoked")).toBe("deadline_exceeded")
  expect(await answers(undefined, "blob:revoked")).toBe("deadline_exceeded")
  expect(await answers("blob:probe", "blob:alive")).toBe("deadline_exceeded")
  reads.length = 0
  expect(await answers("blob:probe", "https://example.invalid/")).toBe("deadline_exceeded")
  expect(reads.filter((url) => !url.startsWith("blob:"))).toEqual([])
})

test("the running limit ends a statement with deadline_exceeded, and waiting for credit is not running", async () => {
  await using at = await TestService.start({ ...oneRow, statementMs: 300 })
  const peer = await at.connect()
  const { error } = await peer.query(runaway)
  expect(error?.code).toBe("deadline_exceeded")
  expect(Number(/(\d+) ms/.exec(error?.message ?? "")?.[1])).toBeGreaterThanOrEqual(300)
  expect((await peer.exec(runaway)).error?.code).toBe("deadline_exceeded")
  const slow = query(peer, count(10), [])
  await new Promise((resolve) => setTimeout(resolve, 500))
  peer.credit(slow.id, 10)
  expect((await slow.answer).done?.totalRows).toBe(10n)
})

test("the id of a queued request that was cancelled is free at once, and the next request of that id runs", async () => {
  await using at = await TestService.start()
  const [peer, other] = [await at.connect(), await at.connect()]
  await peer.exec("CREATE TABLE t(x)")
  await other.begin()
  void peer.exec("INSERT INTO t VALUES(1)")
  const insert = (x: number) =>
    peer.request({ case: "exec", value: { sql: `INSERT INTO t VALUES(${x})` } }, {}, 50).answer
  const canceled = insert(2)
  peer.cancel(50)
  expect((await canceled).error?.code).toBe("canceled")
  const again = insert(3)
  await peer.ping()
  await other.rollback()
  expect((await again).error).toBeUndefined()
  expect((await peer.query("SELECT x FROM t ORDER BY x")).rows).toEqual([[1n], [3n]])
})
