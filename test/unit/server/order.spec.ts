import { expect, test } from "@playwright/test"
import { TestService } from "../../fixtures/service.ts"
import { type Answer, settle, type WirePeer } from "../../fixtures/wire-peer.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

const insert = (x: number) => `INSERT INTO t VALUES(${x})`
const countRows = (peer: WirePeer) => peer.request({ case: "query", value: { sql: "SELECT count(*) FROM t" } })

async function start(limits: Parameters<typeof TestService.start>[0] = {}, clock?: HandClock) {
  const at = await TestService.start(limits, { clock })
  const [peer, other] = [await at.connect(), await at.connect()]
  await peer.exec("CREATE TABLE t(x)")
  return { at, peer, other, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

test("a query takes its snapshot after every earlier write of its socket has ended, whatever that waits for", async () => {
  await using db = await start()
  const { peer, other } = db
  const writes: ((x: number) => Promise<unknown>)[] = [
    (x) => peer.exec(insert(x)),
    (x) => peer.batch(insert(x)),
    (x) => peer.query(`${insert(x)} RETURNING x`),
  ]
  for (const [i, write] of writes.entries()) {
    await other.begin()
    const written = write(i)
    const read = countRows(peer)
    await settle(peer)
    expect(peer.kinds(read.id)).toEqual([])
    await other.rollback()
    await written
    expect((await read.answer).rows).toEqual([[BigInt(i + 1)]])
  }
})

test("a whole transaction may be sent ahead: each query sees the begin, commit and rollback before it", async () => {
  await using db = await start()
  const { peer, other } = db
  await other.begin()
  const answers = Promise.all([
    peer.begin(),
    peer.exec(insert(1)),
    countRows(peer).answer,
    peer.rollback(),
    countRows(peer).answer,
    peer.begin(),
    peer.exec(insert(2)),
    peer.commit(),
    countRows(peer).answer,
  ])
  await settle(peer)
  await other.rollback()
  const seen = (await answers).flatMap(({ rows, error }) => (error ? [error.code] : rows.flat()))
  expect(seen).toEqual([1n, 0n, 1n])
})

test("queued bytes are bounded too: the request that went over gets resource_exhausted, smaller ones have room", async () => {
  await using db = await start({ queueBytes: 10_000 })
  const { peer, other } = db
  await other.begin()
  const padded = (x: number, bytes: number) => peer.exec(`${insert(x)} -- ${"x".repeat(bytes)}`)
  const [waiting, queued, over, small] = [padded(1, 6_000), padded(2, 6_000), padded(3, 6_000), padded(4, 10)]
  expect((await over).error?.code).toBe("resource_exhausted")
  await other.rollback()
  for (const answer of [waiting, queued, small]) expect((await answer).error).toBeUndefined()
  expect((await peer.query("SELECT x FROM t ORDER BY x")).rows).toEqual([[1n], [2n], [4n]])
  // What has run counts no more.
  expect((await padded(5, 9_000)).error).toBeUndefined()
})

test("credit for a request that still waits is added up and saturates", async () => {
  await using db = await start({ firstBatchBytes: 1, batchBytes: 1 })
  const { peer, other } = db
  await other.begin()
  void peer.exec(insert(1))
  const sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 40) SELECT x FROM c"
  const stream = peer.request({ case: "query", value: { sql } }, { credits: [0xffff_ffff, 0xffff_ffff] })
  await settle(peer)
  await other.rollback()
  expect((await stream.answer).done?.totalRows).toBe(40n)
})

test("by default the write turn is waited for 4 seconds, by a waiting request's own clock, and reads need no turn", async () => {
  const clock = new HandClock()
  await using db = await start({}, clock)
  const { peer, other } = db
  await other.begin()
  const write = peer.exec(insert(1))
  let answered = false
  void write.then(() => {
    answered = true
  })
  await settle(peer)
  await clock.advance(3_900)
  await settle(peer)
  expect(answered).toBe(false)
  await clock.advance(200)
  expect((await write).error?.code).toBe("unavailable")
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
  expect((await peer.exec("SELECT * FROM t")).error).toBeUndefined()
})

test("the write turn goes round in arrival order among sockets, whatever each of them asks", async () => {
  await using db = await start()
  const { at, peer, other } = db
  const sockets = [peer, await at.connect(), await at.connect(), await at.connect()] as const
  const asked: ((socket: WirePeer, x: number) => Promise<Answer>)[] = [
    (socket, x) => socket.exec(insert(x)),
    (socket, x) => socket.batch(insert(x)),
    (socket) => socket.begin(),
    (socket, x) => socket.query(`${insert(x)} RETURNING x`),
  ]
  await other.begin()
  const answers: Promise<Answer>[] = []
  for (const [i, ask] of asked.entries()) {
    answers.push(ask(sockets[i] as WirePeer, i))
    await settle(sockets[i] as WirePeer)
  }
  await other.rollback()
  // The transaction began after the two before it, and the one behind it waits for its end.
  const [first, second, begun] = await Promise.all(answers.slice(0, 3))
  expect([first?.execs[0]?.tip, second?.done?.tip, begun?.execs[0]?.tip]).toEqual([2n, 3n, 3n])
  await sockets[2].exec(insert(2))
  await sockets[2].commit()
  expect((await answers[3])?.done?.tip).toBe(5n)
  expect((await peer.query("SELECT x FROM t ORDER BY rowid")).rows).toEqual([[0n], [1n], [2n], [3n]])
})

test("what is still queued when a socket is lost never runs, though those before it did", async () => {
  await using db = await start()
  const { at, other } = db
  const lost = await at.connect()
  await other.begin()
  // Each takes about a millisecond, so that the worker goes back to its event loop many times.
  const sql =
    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 3000) INSERT INTO t SELECT count(*) FROM c"
  const requests = 300
  for (let i = 0; i < requests; i++) void lost.exec(sql)
  await settle(lost)
  const released = other.rollback()
  lost.link.close()
  await released
  await settle(other)
  const { rows } = await other.query("SELECT count(*) FROM t")
  expect(Number(rows[0]?.[0])).toBeLessThan(requests)
})

test("waiting for the turn is no running time, and no time of the transaction that follows", async () => {
  await using db = await start({ statementMs: 200, txIdleMs: 400, txTotalMs: 60_000 })
  const { at, peer, other } = db
  const third = await at.connect()
  await other.begin()
  const write = peer.exec(insert(1))
  const begun = third.begin()
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 120))
    await other.query("SELECT 1")
  }
  await other.rollback()
  expect((await write).error).toBeUndefined()
  expect((await begun).error).toBeUndefined()
  expect((await third.exec(insert(2))).error).toBeUndefined()
  expect((await third.commit()).error).toBeUndefined()
})

test("a socket that is lost while it waits for the turn leaves its place, and the turn is not lost with it", async () => {
  await using db = await start({ writeWaitMs: 1_000 })
  const { at, peer, other } = db
  for (const wait of [(lost: WirePeer) => lost.begin(), (lost: WirePeer) => lost.exec(insert(9))]) {
    const lost = await at.connect()
    await other.begin()
    void wait(lost)
    await settle(lost)
    lost.link.close()
    await settle(peer)
    await other.rollback()
    expect((await peer.exec("DELETE FROM t")).execs[0]?.rowsAffected).toBe(0n)
  }
})

test("a transaction is not idle while the worker is busy: what is queued is read before it is judged", async () => {
  await using db = await start({ txIdleMs: 300 })
  const { peer } = db
  await peer.begin()
  for (let round = 0; round < 3; round++) {
    const write = peer.exec(insert(round))
    const until = performance.now() + 500
    while (performance.now() < until) {}
    expect((await write).error).toBeUndefined()
  }
  expect((await peer.commit()).error).toBeUndefined()
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[3n]])
})
