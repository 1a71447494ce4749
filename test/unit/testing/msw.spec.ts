import { runInNewContext } from "node:vm"
import { expect, test } from "@playwright/test"
import { setupServer } from "msw/node"
import { WebSocket as NodeWebSocket } from "ws"
import { AgentDBServiceClient, connect } from "../../../src/client/index.ts"
import { SocketLink } from "../../../src/link/socket-link.ts"
import { InProcessService } from "../../../src/node/in-process.ts"
import { type AgentDBHandlers, handlersOf } from "../../../src/testing/msw/handlers.ts"
import { dataPlane } from "../../fixtures/data-plane.ts"
import { OracleClientMessage, OracleServerMessage } from "../../fixtures/oracle.ts"
import { token } from "../../fixtures/service.ts"
import { WirePeer } from "../../fixtures/wire-peer.ts"
import { nodeWorker } from "../../tools/node-worker.mjs"

const url = "wss://agents.example.test/db"
const origin = "https://agents.example.test"

// Node has a WebSocket of its own from version 22 on; msw patches whatever is there.
globalThis.WebSocket ??= NodeWebSocket as unknown as typeof WebSocket

let db: AgentDBHandlers
const server = setupServer()
test.beforeAll(async () => {
  db = handlersOf(new InProcessService({}, await nodeWorker()), { url })
  server.use(...db)
  server.listen({ onUnhandledRequest: "error" })
})
test.afterAll(async () => {
  server.close()
  await db.close()
})

const createDatabase = async () => (await db.agentdb.createDatabase()).databaseId

async function connectPeer(databaseId: string): Promise<WirePeer> {
  const peer = new WirePeer(new SocketLink(new WebSocket(url)))
  expect((await peer.hello(token(), databaseId)).kinds).toEqual(["helloOk"])
  return peer
}

for (const [title, check] of Object.entries(dataPlane)) {
  test(title, async () => {
    const databaseId = await createDatabase()
    await check(() => connectPeer(databaseId))
  })
}

async function openSocket(binaryType: BinaryType = "arraybuffer"): Promise<WebSocket> {
  const socket = new WebSocket(url)
  socket.binaryType = binaryType
  await new Promise<void>((resolve) => socket.addEventListener("open", () => resolve()))
  return socket
}

const closeOf = (socket: WebSocket) =>
  new Promise<{ code: number; reason: string; wasClean: boolean }>((resolve) =>
    socket.addEventListener("close", ({ code, reason, wasClean }) => resolve({ code, reason, wasClean })),
  )

const hello = (databaseId: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    new OracleClientMessage({
      requestId: 1,
      message: { case: "hello", value: { token: token(), databaseId } },
    }).toBinary(),
  )

test("the service's closes pass with code and reason", async () => {
  const text = await openSocket()
  text.send("hello")
  expect(await closeOf(text)).toEqual({ code: 1003, reason: "frames are binary", wasClean: true })
  const noise = await openSocket()
  noise.send(new Uint8Array([0xff, 0xff, 0xff]))
  expect(await closeOf(noise)).toMatchObject({ code: 1007 })
  const peer = new WirePeer(new SocketLink(new WebSocket(url)))
  expect((await peer.hello("nonsense", await createDatabase())).error?.code).toBe("unauthenticated")
  expect(await peer.closed).toMatchObject({ code: 1008, reason: "the Hello was refused" })
})

test("messages come as the socket's binaryType says, and may be sent as any kind of bytes", async () => {
  const databaseId = await createDatabase()
  const ping = (requestId: number) =>
    new Uint8Array(new OracleClientMessage({ requestId, message: { case: "ping", value: {} } }).toBinary())
  for (const binaryType of ["blob", "arraybuffer"] as const) {
    const socket = await openSocket(binaryType)
    const received: unknown[] = []
    socket.addEventListener("message", ({ data }) => received.push(data))
    const frame = hello(databaseId)
    // A Blob's bytes come late, and what is behind it must not overtake it.
    socket.send(new Blob([frame]))
    socket.send(ping(2).buffer)
    const padded = new Uint8Array([9, ...ping(3), 9])
    socket.send(padded.subarray(1, -1))
    expect(frame.byteLength).toBeGreaterThan(0)
    await expect.poll(() => received.length).toBe(3)
    for (const data of received) expect(data).toBeInstanceOf(binaryType === "blob" ? Blob : ArrayBuffer)
    const frames = await Promise.all(received.map((data) => new Response(data as BodyInit).arrayBuffer()))
    const ids = frames.map((data) => OracleServerMessage.fromBinary(new Uint8Array(data)).requestId)
    expect(ids.sort()).toEqual([1, 2, 3])
    socket.close()
  }
})

test("a transaction ends with its socket", async () => {
  const databaseId = await createDatabase()
  const other = await db.agentdb.connect(databaseId)
  await other.exec("CREATE TABLE tx(x)")
  const peer = await connectPeer(databaseId)
  await peer.begin()
  await peer.exec("INSERT INTO tx VALUES(1)")
  peer.link.close(1000, "enough")
  await other.exec("INSERT INTO tx VALUES(2)")
  expect(await other.query("SELECT x FROM tx").all()).toEqual([{ x: 2 }])
})

test("our client by its URL: a call that is aborted is cancelled, and its socket goes on", async () => {
  const databaseId = await createDatabase()
  await using connection = await connect({ link: url, databaseId, token: token() })
  const abort = new AbortController()
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c"
  const call = connection.exec(endless, [], { signal: abort.signal })
  setTimeout(() => abort.abort(), 100)
  await expect(call).rejects.toMatchObject({ code: "canceled" })
  expect(await connection.query("SELECT 1 AS one").all()).toEqual([{ one: 1 }])
})

test("where globals are of another realm than Node's own, as in jsdom, frames are taken all the same", async () => {
  const before = { ArrayBuffer, Uint8Array }
  Object.assign(globalThis, runInNewContext("({ ArrayBuffer, Uint8Array })"))
  try {
    const { databaseId } = await db.agentdb.createDatabase()
    for (const connection of [
      await db.agentdb.connect(databaseId),
      await connect({ link: url, databaseId, token: token() }),
    ]) {
      const row = await connection.query<{ v: Uint8Array }>("SELECT ? AS v", [new Uint8Array([1, 2])]).first()
      expect([...(row?.v ?? [])]).toEqual([1, 2])
      await connection.close()
    }
  } finally {
    Object.assign(globalThis, before)
  }
})

test("the Twirp plane answers fetch, with the project of the token", async () => {
  const client = new AgentDBServiceClient({ url: origin, token: token() })
  const { databaseId } = await client.createDatabase({ region: "eu" })
  expect(await db.agentdb.getDatabase(databaseId)).toMatchObject({ region: "eu" })
  const refused = await fetch(`${origin}/twirp/livekit.AgentDBService/ListDatabases`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })
  expect([refused.status, await refused.json()]).toMatchObject([401, { code: "unauthenticated" }])
  await expect(fetch(`${origin}/elsewhere`)).rejects.toThrow()
})

test("a dump is a download at the address that the code under test knows", async () => {
  const databaseId = await createDatabase()
  await using connection = await db.agentdb.connect(databaseId)
  await connection.exec("CREATE TABLE t(x)")
  const { downloadUrl, tip } = await db.agentdb.dumpDatabase(databaseId)
  expect(tip).toBe(1)
  expect(downloadUrl).toMatch(/^https:\/\/agents\.example\.test\/dumps\/[\w-]{32}\.sqlite$/)
  for (const answer of [await fetch(downloadUrl), await db.agentdb.fetch(downloadUrl)]) {
    expect(answer.headers.get("content-type")).toBe("application/vnd.sqlite3")
    expect(
      Buffer.from(await answer.arrayBuffer())
        .subarray(0, 15)
        .toString(),
    ).toBe("SQLite format 3")
  }
})

test("keys, limits and the address are checked at once", async () => {
  const worker = await nodeWorker()
  const make = (options: object) => () => handlersOf(new InProcessService(options, worker), { url, ...options })
  expect(make({ limits: { statementMs: -1 } })).toThrow(expect.objectContaining({ code: "invalid_argument" }))
  expect(make({ keys: {} })).toThrow(expect.objectContaining({ code: "invalid_argument" }))
  expect(make({ url: "ftp://agents.example.test" })).toThrow(TypeError)
  expect(() => db.agentdb.token("unknown")).toThrow(expect.objectContaining({ code: "invalid_argument" }))
})

test("closing ends sockets with 1001, twice is once, and nothing is served after it", async () => {
  const mine = "wss://mine.example.test/some/path"
  const options = { url: mine, keys: { mykey: "mysecret" } }
  const own = handlersOf(new InProcessService(options, await nodeWorker()), options)
  server.use(...own.handlers)
  const socket = new WebSocket(`${mine}?x=1`)
  await expect.poll(() => socket.readyState).toBe(1)
  const closed = closeOf(socket)
  expect((await own.agentdb.listDatabases()).databases).toEqual([])
  await Promise.all([own.close(), own.agentdb.close()])
  expect(await closed).toMatchObject({ code: 1001 })
  const late = new WebSocket(mine)
  expect(await closeOf(late)).toMatchObject({ code: 1001 })
  await expect(own.agentdb.listDatabases()).rejects.toMatchObject({ code: "closed" })
})
