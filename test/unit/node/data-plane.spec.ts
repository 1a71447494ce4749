import { expect, test } from "@playwright/test"
import { connectPeer, createDatabase, type NodeServer, socketPeer, startServer } from "../../fixtures/node-server.ts"
import { token } from "../../fixtures/service.ts"

let server: NodeServer
test.beforeAll(async () => {
  server = await startServer()
})
test.afterAll(() => server.close())
test.beforeEach(async () => {
  server = { ...server, databaseId: await createDatabase(server) }
})

const runaway = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c"

test("values of every type pass a real socket both ways, in the independent codec", async () => {
  const peer = await connectPeer(server)
  await peer.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
  const values = [null, 9007199254740993n, -1.5, "a\u0000😀", new Uint8Array([0, 255]), "", new Uint8Array(), -0.0]
  for (const value of values) await peer.exec("INSERT INTO t(v) VALUES(?)", value)
  const { columns, rows, done } = await peer.query("SELECT v FROM t ORDER BY id")
  expect(columns).toEqual([["v"]])
  expect(rows.map(([value]) => value)).toEqual(values)
  expect(done).toMatchObject({ totalRows: 8n, tip: 9n })
})

test("batch, transaction and ping", async () => {
  const peer = await connectPeer(server)
  const batch = await peer.batch("CREATE TABLE t(x)", ["INSERT INTO t VALUES(?), (?)", 1n, 2n], "SELECT x FROM t")
  expect(batch.kinds).toEqual(["execResult", "execResult", "columns", "columnBatch", "done"])
  await peer.begin()
  await peer.exec("DELETE FROM t")
  await peer.rollback()
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[2n]])
  expect((await peer.ping()).kinds).toEqual(["pong"])
})

test("requests pipelined behind the Hello are answered in order", async () => {
  const { peer } = socketPeer(server.wsUrl)
  const hello = peer.hello(token(), server.databaseId)
  void peer.exec("CREATE TABLE t(x)")
  const answers = Array.from({ length: 500 }, (_, i) => peer.exec("INSERT INTO t VALUES(?)", BigInt(i)))
  expect((await hello).kinds).toEqual(["helloOk"])
  const tips = (await Promise.all(answers)).map(({ execs }) => Number(execs[0]?.tip))
  expect(tips).toEqual(Array.from({ length: 500 }, (_, i) => i + 2))
})

test("a frame of almost 16 MiB passes both ways", async () => {
  const peer = await connectPeer(server)
  await peer.exec("CREATE TABLE t(x)")
  const blob = new Uint8Array(15 * 1024 * 1024).map((_, i) => (i * 31 + 7) & 255)
  await peer.exec("INSERT INTO t VALUES(?)", blob)
  const [[back] = []] = (await peer.query("SELECT x FROM t")).rows
  expect(Buffer.compare(back as Uint8Array, blob)).toBe(0)
})

test("a Cancel frame ends a statement that keeps the worker from reading frames", async () => {
  const [peer, other] = [await connectPeer(server), await connectPeer(server)]
  for (const kind of ["query", "exec"] as const) {
    const target = peer.request({ case: kind, value: { sql: runaway } })
    // By now it is inside the statement.
    await new Promise((resolve) => setTimeout(resolve, 200))
    const held = other.query("SELECT 1")
    peer.cancel(target.id)
    expect((await target.answer).error?.code).toBe("canceled")
    expect((await held).rows).toEqual([[1n]])
  }
})

test("a Cancel right behind its request works too, and does not reach the next one of the same id", async () => {
  const peer = await connectPeer(server)
  for (let round = 0; round < 20; round++) {
    const target = peer.request({ case: "query", value: { sql: runaway } }, {}, 900)
    peer.cancel(900)
    expect((await target.answer).error?.code).toBe("canceled")
    expect((await peer.request({ case: "query", value: { sql: "SELECT 1" } }, {}, 900).answer).rows).toEqual([[1n]])
  }
})

test("projects of other keys see nothing of each other", async () => {
  await using two = await startServer({ keys: { devkey: "secret", other: "hidden" } })
  const { peer } = socketPeer(two.wsUrl)
  expect((await peer.hello(token("other", "hidden"), two.databaseId)).error?.code).toBe("not_found")
  expect(await peer.closed).toMatchObject({ code: 1008 })
})
