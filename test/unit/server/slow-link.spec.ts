import { expect, test } from "@playwright/test"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import { TestService, token } from "../../fixtures/service.ts"
import { settle, WirePeer } from "../../fixtures/wire-peer.ts"

const count = (n: number) => `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT ${n}) SELECT x FROM c`
const endless = [0xffff_fff0]

/** A socket whose link takes `room` frames, until it is given more. */
async function start() {
  const at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1 })
  const [mine, theirs] = createLinkPair()
  let room = 1_000
  Object.defineProperty(theirs, "writable", { get: () => room > 0 })
  const send = theirs.send.bind(theirs)
  theirs.send = (frame) => {
    room--
    send(frame)
  }
  at.service.accept(theirs)
  const peer = new WirePeer(mine)
  await peer.hello(token(), at.databaseId)
  return {
    at,
    peer,
    take(frames: number) {
      const wasFull = room <= 0
      room = frames
      if (wasFull && frames > 0) theirs.onwritable?.()
    },
    batches: (id: number) => peer.kinds(id).filter((kind) => kind === "columnBatch").length,
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  }
}

const query = (peer: WirePeer, n: number) =>
  peer.request({ case: "query", value: { sql: count(n) } }, { credits: endless })

test("streams wait for a link that is full, in turns; other requests and sockets do not", async () => {
  await using it = await start()
  const { at, peer } = it
  it.take(0)
  const ids = [query(peer, 100), query(peer, 100), query(peer, 100)]
  const other = await at.connect()
  await settle(other)
  // Columns tell of the start, which waits for nothing.
  expect(ids.map(({ id }) => peer.kinds(id))).toEqual([["columns"], ["columns"], ["columns"]])
  expect((await peer.exec("CREATE TABLE t(x)")).execs).toHaveLength(1)
  for (let round = 1; round <= 4; round++) {
    it.take(3)
    await settle(other)
    expect(ids.map(({ id }) => it.batches(id))).toEqual([round, round, round])
  }
  it.take(1_000)
  for (const { answer } of ids) expect((await answer).done?.totalRows).toBe(100n)
})

test("a stream that waits for its link needs its credit all the same", async () => {
  await using it = await start()
  const { at, peer } = it
  it.take(0)
  const { id, answer } = peer.request({ case: "query", value: { sql: count(10) } }, { credits: [] })
  await peer.ping()
  const other = await at.connect()
  it.take(1_000)
  await settle(other)
  expect(it.batches(id)).toBe(4)
  it.take(0)
  peer.credit(id, 100)
  await settle(other)
  expect(it.batches(id)).toBe(4)
  it.take(1_000)
  expect((await answer).done?.totalRows).toBe(10n)
})

test("a stream that waits for its link can be cancelled, is taken ahead by a write, and ends with its socket", async () => {
  await using it = await start()
  const { at, peer } = it
  await peer.exec("CREATE TABLE t(x)")
  await peer.batch(...Array.from({ length: 20 }, (): [string, bigint] => ["INSERT INTO t VALUES(?)", 1n]))
  await peer.begin()
  it.take(0)
  const canceled = query(peer, 1_000_000)
  const table = peer.request({ case: "query", value: { sql: "SELECT x FROM t" } }, { credits: endless })
  peer.cancel(canceled.id)
  expect((await canceled.answer).error?.code).toBe("canceled")
  await peer.exec("DELETE FROM t")
  await peer.commit()
  expect(it.batches(table.id)).toBe(0)
  it.take(1_000)
  expect((await table.answer).rows).toHaveLength(20)
  it.take(0)
  query(peer, 1_000_000)
  await peer.ping()
  peer.link.close()
  const other = await at.connect()
  await settle(other)
  it.take(1_000)
  // Nobody's reader is left behind.
  expect((await other.exec("DROP TABLE t")).error).toBeUndefined()
  await other.exec("VACUUM")
})
