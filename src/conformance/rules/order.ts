import { holds, same } from "../deviation.ts"
import { fills } from "../needs.ts"
import type { Peer } from "../peer.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { endless, wide } from "../sql.ts"
import { closes, settle } from "../stage.ts"

const insert = (x: number) => `INSERT INTO t VALUES(${x})`

export const order = new Section("Order and bounds")
  .rule("order.several", "Several requests are in flight on one socket.", async (stage) => {
    const peer = await stage.connect()
    const stalled = peer.stream(wide(12, stage.limits.batchBytes))
    const answers = await Promise.all([peer.ping(), peer.query("SELECT 1"), peer.exec("CREATE TABLE t(x)")])
    for (const answer of answers) succeeded(answer)
    peer.cancel(stalled.id)
  })
  .rule(
    "order.arrival",
    "A query takes its snapshot after every earlier write, begin, commit and rollback of that socket has ended.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      const counts: Promise<unknown>[] = []
      const count = () => counts.push(peer.query("SELECT count(*) FROM t").then(({ rows }) => rows[0]?.[0]))
      void peer.exec(insert(1))
      count()
      void peer.begin()
      void peer.exec(insert(2))
      count()
      void peer.rollback()
      count()
      void peer.begin()
      void peer.batch(insert(2), insert(3))
      void peer.commit()
      count()
      same(await Promise.all(counts), [1n, 2n, 1n, 3n])
    },
  )
  .rule(
    "order.behind-a-wait",
    "A query behind a write that waits for the turn sees what that write did.",
    async (stage) => {
      const [peer, other] = await stage.two()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      succeeded(await other.begin())
      const write = peer.exec(insert(1))
      const read = peer.query("SELECT count(*) FROM t")
      await settle(peer)
      succeeded(await other.rollback())
      succeeded(await write)
      same((await read).rows, [[1n]])
    },
  )
  .rule(
    "order.streams-block-nothing",
    "A stream that waits for credit never blocks an exec, a ping or another stream.",
    async (stage) => {
      const peer = await stage.connect()
      const stalled = peer.stream(wide(12, stage.limits.batchBytes))
      await stage.hasBatches(peer, stalled.id, stage.limits.initialCredit)
      await stage.setUp(peer, "CREATE TABLE t(x)", insert(1))
      same((await peer.ping()).kinds, ["pong"])
      same((await stage.rows(peer, wide(8, stage.limits.batchBytes))).length, 8)
      peer.credit(stalled.id, 100)
      same((await stalled.answer).done?.totalRows, 12n)
    },
  )
  .rule("order.lost", "Requests that are still queued when a socket is lost never run.", async (stage) => {
    const [lost, other] = await stage.two()
    await stage.setUp(other, "CREATE TABLE t(x)")
    succeeded(await other.begin())
    for (let i = 0; i < 5; i++) void lost.exec(insert(i))
    await settle(lost)
    lost.close()
    await settle(other)
    succeeded(await other.rollback())
    const witness = await stage.connect()
    succeeded(await witness.exec("INSERT INTO t VALUES(100)"))
    same(await stage.rows(witness, "SELECT x FROM t"), [[100n]])
  })
  .rule(
    "bounds.frames",
    "`queueFrames` (1,024) queued frames a socket: above that, `resource_exhausted` for the request that went over.",
    async (stage) => {
      const [peer, other] = await stage.two()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      succeeded(await other.begin())
      const { queueFrames } = stage.limits
      // One of them may wait at the head without counting.
      const answers = Array.from({ length: queueFrames + 2 }, (_, i) => peer.exec(insert(i)))
      refused((await answers.at(-1)) ?? (await peer.ping()), "resource_exhausted", "the last one")
      succeeded(await other.rollback())
      const applied = (await Promise.all(answers)).filter(({ error }) => !error).length
      holds(applied >= queueFrames && applied <= queueFrames + 1, `about ${queueFrames} that ran`, applied)
      same(await stage.count(peer), applied)
    },
  )
  .rule(
    "bounds.bytes",
    "`queueBytes` (64 MiB) queued a socket: above that, `resource_exhausted` for the request that went over.",
    async (stage) => {
      const [peer, other] = await stage.two()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      succeeded(await other.begin())
      const { queueBytes, maxFrameBytes } = stage.limits
      const blob = new Uint8Array(Math.min(Math.floor(maxFrameBytes * 0.9), Math.ceil(queueBytes / 3)))
      const count = Math.floor(queueBytes / blob.length) + 2
      const answers = Array.from({ length: count }, () => peer.exec("INSERT INTO t VALUES(?)", blob))
      refused((await answers.at(-1)) ?? (await peer.ping()), "resource_exhausted", "the last one")
      succeeded(await other.rollback())
      const applied = (await Promise.all(answers)).filter(({ error }) => !error).length
      holds(applied >= count - 3 && applied < count, `${count - 2} or so that ran`, applied)
      same(await stage.count(peer), applied)
    },
    fills("queueBytes", 1.5),
  )
  .rule(
    "bounds.streams",
    "`openStreams` (64) open streams a database: above that, `resource_exhausted` for the request that went over.",
    async (stage) => {
      const [a, b] = await stage.two()
      await stage.setUp(a, "CREATE TABLE t(x)")
      const { openStreams } = stage.limits
      const open = Array.from({ length: openStreams }, (_, i) => {
        const peer = i % 2 ? a : b
        return { peer, ...peer.stream(endless) }
      })
      for (const peer of [a, b]) await settle(peer)
      for (const peer of [a, b]) refused(await peer.query("SELECT 1"), "resource_exhausted")
      succeeded(await a.exec(insert(1)), "an exec opens no stream")
      for (const { peer, id, answer } of open) {
        peer.cancel(id)
        refused(await answer, "canceled")
      }
      same(await stage.rows(a, "SELECT 1"), [[1n]])
    },
  )
  .rule("id.choice", "`request_id` is the client's choice. 0 is legal.", async (stage) => {
    const peer = await stage.connect()
    for (const id of [0, 1, 0xffff_ffff]) {
      const { answer } = peer.request({ case: "query", value: { sql: "SELECT 5" } }, undefined, id)
      same(succeeded(await answer).rows, [[5n]], `request_id ${id}`)
    }
  })
  .rule("id.again", "It may be used again once its request has ended.", async (stage) => {
    const peer = await stage.connect()
    for (let i = 0; i < 3; i++) {
      const { answer } = peer.request({ case: "query", value: { sql: "SELECT 5" } }, undefined, 9)
      same(succeeded(await answer).rows, [[5n]])
    }
    refused(await peer.request({ case: "exec", value: { sql: "nonsense" } }, undefined, 9).answer, "SQLITE_ERROR")
    succeeded(await peer.request({ case: "ping", value: {} }, undefined, 9).answer)
  })
  .rule("id.duplicate", "A duplicate of a live one: close 1008.", async (stage) => {
    const duplicates: ((peer: Peer) => void)[] = [
      (peer) => peer.send(9, { case: "query", value: { sql: "SELECT 1" } }),
      (peer) => peer.send(9, { case: "exec", value: { sql: "SELECT 1" } }),
      (peer) => peer.send(9, { case: "begin", value: {} }),
    ]
    for (const duplicate of duplicates) {
      const peer = await stage.connect()
      peer.request({ case: "query", value: { sql: endless } }, [], 9)
      await stage.hasBatches(peer, 9, stage.limits.initialCredit)
      duplicate(peer)
      await closes(peer, 1008)
    }
  }).rules
