import { same } from "../deviation.ts"
import { key, waitsFor } from "../needs.ts"
import { type Peer, refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { endless, wide } from "../sql.ts"
import { closes, pause, settle } from "../stage.ts"
import { tokenOf } from "../token.ts"

export const hello = new Section("Hello and Ping")
  .rule("hello.first", "Hello comes first: a frame before it closes with 1008.", async (stage) => {
    const early: Parameters<Peer["send"]>[1][] = [
      { case: "query", value: { sql: "SELECT 1" } },
      { case: "ping", value: {} },
      { case: "begin", value: {} },
    ]
    for (const body of early) {
      const peer = await stage.socket()
      peer.send(1, body)
      await closes(peer, 1008, body.case)
      same(peer.log.length, 0, "frames that answer it")
    }
  })
  .rule("hello.checked", "Token and database are checked at Hello.", async (stage) => {
    const id = await stage.database()
    const cases: [string, string, string][] = [
      ["", id, "unauthenticated"],
      ["nonsense", id, "unauthenticated"],
      [await stage.token(), "DB_222222222222", "not_found"],
      [await stage.token(), "", "invalid_argument"],
    ]
    for (const [token, databaseId, code] of cases) {
      const peer = await stage.socket()
      refused(await peer.hello(token, databaseId), code, databaseId || "no database_id")
    }
  })
  .rule(
    "hello.once",
    "They are checked once; a token that expires later does not sever the socket.",
    async (stage) => {
      const { key } = stage.target
      if (!key) return
      const now = Math.floor(Date.now() / 1000)
      const peer = await stage.socket()
      // With the leeway of 60 seconds it lasts 2 to 3.
      succeeded(await peer.hello(tokenOf(key, { exp: now - 57 }), await stage.database()))
      // Alive all the while.
      for (const until = Date.now() + 4_000; Date.now() < until; await pause(200)) await peer.ping()
      same(await stage.rows(peer, "SELECT 1"), [[1n]])
      const late = await stage.socket()
      refused(await late.hello(tokenOf(key, { exp: now - 57 }), await stage.database()), "unauthenticated")
    },
    key,
  )
  .rule("hello.refused", "A refusal is an Error frame on the Hello's `request_id`, then close 1008.", async (stage) => {
    const peer = await stage.socket()
    const value = { token: "nonsense", databaseId: await stage.database() }
    const { answer } = peer.request({ case: "hello", value }, [], 77)
    refused(await answer, "unauthenticated")
    await closes(peer, 1008)
    same(
      peer.log.map(({ id, body }) => [id, body.case]),
      [[77, "error"]],
    )
  })
  .rule("hello.pipelined", "Frames pipelined behind a Hello wait for it.", async (stage) => {
    const peer = await stage.socket()
    const greeted = peer.hello(await stage.token(), await stage.database())
    const [ping, created, inserted, read] = [
      peer.ping(),
      peer.exec("CREATE TABLE t(x)"),
      peer.exec("INSERT INTO t VALUES(1)"),
      peer.query("SELECT x FROM t"),
    ]
    succeeded(await greeted)
    for (const answer of [ping, created, inserted]) succeeded(await answer)
    same((await read).rows, [[1n]])
    same(peer.log[0]?.body.case, "helloOk", "the first frame")
  })
  .rule(
    "hello.dropped",
    "If the Hello is refused, what was pipelined behind it is dropped unanswered.",
    async (stage) => {
      const witness = await stage.connect()
      const peer = await stage.socket()
      const greeted = peer.hello("nonsense", await stage.database())
      const piped = [peer.exec("CREATE TABLE never(x)"), peer.query("SELECT 1"), peer.ping()]
      refused(await greeted, "unauthenticated")
      await peer.closed
      for (const answer of piped) same((await answer).kinds, ["closed"])
      same(await stage.rows(witness, "SELECT count(*) FROM sqlite_schema"), [[0n]])
    },
  )
  .rule(
    "hello.second",
    "A second Hello is answered with Error `failed_precondition`, and the socket stays.",
    async (stage) => {
      const peer = await stage.connect()
      refused(await peer.hello(await stage.token(), await stage.database()), "failed_precondition")
      same(await stage.rows(peer, "SELECT 1"), [[1n]])
    },
  )
  .rule(
    "hello.ok",
    "HelloOk carries the tip and the ping terms, `ping_interval_ms` and `ping_timeout_ms`.",
    async (stage) => {
      const writer = await stage.connect()
      await stage.setUp(writer, "CREATE TABLE t(x)", "INSERT INTO t VALUES(1)")
      const peer = await stage.socket()
      const { helloOk } = succeeded(await peer.hello(await stage.token(), await stage.database()))
      const { pingIntervalMs, pingTimeoutMs } = stage.limits
      same(helloOk, { tip: 2n, pingIntervalMs, pingTimeoutMs })
    },
  )
  .rule("ping.echo", "A Pong echoes the Ping's `request_id` and timestamp.", async (stage) => {
    const peer = await stage.connect()
    for (const timestampMs of [0n, 1_700_000_000_123n, -(2n ** 63n)]) {
      const { answer } = peer.request({ case: "ping", value: { timestampMs } })
      same(succeeded(await answer).pong, { lastPingTimestampMs: timestampMs })
    }
  })
  .rule("ping.paused", "A Pong comes while a stream is paused.", async (stage) => {
    const peer = await stage.connect()
    const { id } = peer.stream(wide(12, stage.limits.batchBytes))
    await stage.hasBatches(peer, id, stage.limits.initialCredit)
    same((await peer.ping()).kinds, ["pong"])
  })
  .rule(
    "ping.running",
    "A Pong comes while streams are running, so no stream starves another socket.",
    async (stage) => {
      const [busy, other] = await stage.two()
      const running = [1, 2].map(() => busy.request({ case: "query", value: { sql: endless } }))
      while (running.some(({ id }) => busy.batches(id) < 3)) await pause(1)
      for (const peer of [busy, other]) {
        same((await peer.ping()).kinds, ["pong"])
        same(await stage.rows(peer, "SELECT 1"), [[1n]])
      }
      for (const { id, answer } of running) {
        busy.cancel(id)
        refused(await answer, "canceled")
      }
    },
  )
  .rule(
    "ping.timeout",
    "The server closes a socket from which nothing came for `ping_timeout_ms`.",
    async (stage) => {
      const peers = [await stage.connect(), await stage.socket()]
      for (const peer of peers) await closes(peer, 1008)
    },
    waitsFor("pingTimeoutMs"),
  )
  .rule(
    "ping.stream-is-no-life",
    "A live stream does not count as life: only received frames do.",
    async (stage) => {
      const [silent, lively] = await stage.two()
      silent.stream(endless, 0xffff_ffff)
      let isGone = false
      void silent.closed.then(() => {
        isGone = true
      })
      while (!isGone) {
        await lively.ping()
        await pause(5)
      }
      await closes(silent, 1008)
      await settle(lively)
    },
    waitsFor("pingTimeoutMs"),
  ).rules
