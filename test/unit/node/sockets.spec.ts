import { expect, test } from "@playwright/test"
import { WebSocket } from "ws"
import { closeReason } from "../../../src/node/close-reason.ts"
import { connectPeer, type NodeServer, socketPeer, startServer } from "../../fixtures/node-server.ts"
import { OracleClientMessage } from "../../fixtures/oracle.ts"
import { handshake, RawSocket, rawRequest } from "../../fixtures/raw-socket.ts"
import { token } from "../../fixtures/service.ts"

let server: NodeServer
test.beforeAll(async () => {
  server = await startServer({ limits: { maxFrameBytes: 1_000_000 } })
})
test.afterAll(() => server.close())

async function openSocket(protocols?: string[]): Promise<WebSocket> {
  const socket = new WebSocket(server.wsUrl, protocols)
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
  return socket
}

const closeOf = (socket: WebSocket): Promise<{ code: number; reason: string }> =>
  new Promise((resolve) => socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() })))

test("a text frame closes with 1003, one that cannot be decoded with 1007", async () => {
  const text = await openSocket()
  text.send("hello")
  expect(await closeOf(text)).toEqual({ code: 1003, reason: "frames are binary" })
  const noise = await openSocket()
  noise.send(new Uint8Array([0xff, 0xff, 0xff]))
  expect(await closeOf(noise)).toEqual({ code: 1007, reason: "the frame is not a ClientMessage" })
})

test("a frame of the limit passes, one byte more closes with 1009 and harms no other socket", async () => {
  const peer = await connectPeer(server)
  const frameOf = (padding: number) => {
    const value = { sql: `SELECT length('${"x".repeat(padding)}')` }
    return new OracleClientMessage({ requestId: 7, message: { case: "query", value } }).toBinary()
  }
  const padding = 999_000 + (1_000_000 - frameOf(999_000).length)
  expect(frameOf(padding).length).toBe(1_000_000)
  const { peer: sender, socket } = socketPeer(server.wsUrl)
  await sender.hello(token(), server.databaseId)
  const exact = sender.request({ case: "query", value: { sql: `SELECT length('${"x".repeat(padding)}')` } }, {}, 7)
  expect((await exact.answer).rows).toEqual([[BigInt(padding)]])
  socket.send(frameOf(padding + 1))
  expect(await sender.closed).toMatchObject({ code: 1009 })
  expect((await peer.query("SELECT 1")).rows).toEqual([[1n]])
})

test("a frame before Hello, and a refused Hello, close with 1008", async () => {
  const { peer } = socketPeer(server.wsUrl)
  void peer.ping()
  expect(await peer.closed).toEqual({ code: 1008, reason: "the first frame must be a Hello" })
  const { peer: refused } = socketPeer(server.wsUrl)
  expect((await refused.hello("nonsense", server.databaseId)).error?.code).toBe("unauthenticated")
  expect(await refused.closed).toEqual({ code: 1008, reason: "the Hello was refused" })
})

test("a socket that says nothing is closed with 1008, one that pings is not", async () => {
  await using quick = await startServer({ limits: { pingTimeoutMs: 400 } })
  const [silent, lively] = [await connectPeer(quick), await connectPeer(quick)]
  const pings = setInterval(() => void lively.ping(), 100)
  expect(await silent.closed).toEqual({ code: 1008, reason: "nothing came for 400 ms" })
  clearInterval(pings)
  expect((await lively.ping()).kinds).toEqual(["pong"])
})

test("a transaction ends with its socket, whatever the client closes with", async () => {
  const other = await connectPeer(server)
  await other.exec("CREATE TABLE tx(x)")
  for (const end of [(s: WebSocket) => s.close(4242, "enough"), (s: WebSocket) => s.terminate()]) {
    const { peer, socket } = socketPeer(server.wsUrl)
    await peer.hello(token(), server.databaseId)
    await peer.begin()
    await peer.exec("INSERT INTO tx VALUES(1)")
    end(socket)
    expect((await other.exec("INSERT INTO tx VALUES(2)")).error).toBeUndefined()
  }
  expect((await other.query("SELECT x FROM tx")).rows).toEqual([[2n], [2n]])
  expect(server.lines.some((line) => line.endsWith("closed with 4242: enough"))).toBe(true)
})

test("closing the server closes its sockets with 1001, twice is once, and the port is free again", async () => {
  const mine = await startServer()
  const [a, b] = [await connectPeer(mine), await connectPeer(mine)]
  await Promise.all([mine.close(), mine.close()])
  for (const peer of [a, b]) expect(await peer.closed).toMatchObject({ code: 1001 })
  await mine.close()
  const again = await startServer({ port: Number(new URL(mine.url).port) })
  await again.close()
})

test("closing does not wait for a statement that runs on, nor for a peer that does not answer", async () => {
  const mine = await startServer()
  const peer = await connectPeer(mine)
  const deaf = await RawSocket.open(mine.wsUrl)
  void peer.exec("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c")
  await new Promise((resolve) => setTimeout(resolve, 200))
  await mine.close()
  expect(await peer.closed).toMatchObject({ code: 1001 })
  deaf.socket.destroy()
})

test("a reason beyond WebSocket's 123 bytes is cut between characters", async () => {
  expect(closeReason("short")).toBe("short")
  expect(closeReason("x".repeat(123))).toHaveLength(123)
  expect(closeReason("x".repeat(200))).toHaveLength(123)
  // 4 bytes each: 30 of them are 120, and a 31st would be 124.
  expect(closeReason("😀".repeat(40))).toBe("😀".repeat(30))
})

const statusOf = async (lines: string[]) => {
  const { socket, head } = await rawRequest(server.url, lines)
  socket.destroy()
  return head.split("\r\n")[0]
}

test("upgrades are refused with a status: another path, verb or version, and what is no handshake", async () => {
  expect(await statusOf(handshake())).toBe("HTTP/1.1 101 Switching Protocols")
  expect(await statusOf(handshake({ request: "GET /db?x=1 HTTP/1.1" }))).toBe("HTTP/1.1 101 Switching Protocols")
  for (const path of ["/", "/db/", "/dbx", "/twirp/livekit.AgentDBService/ListDatabases", "//"]) {
    expect(await statusOf(handshake({ request: `GET ${path} HTTP/1.1` })), path).toBe("HTTP/1.1 404 Not Found")
  }
  expect(await statusOf(handshake({ request: "POST /db HTTP/1.1" }))).toBe("HTTP/1.1 405 Method Not Allowed")
  for (const headers of [{ upgrade: "h2c" }, { "sec-websocket-key": undefined }, { "sec-websocket-key": "short" }]) {
    expect(await statusOf(handshake({ headers })), JSON.stringify(headers)).toBe("HTTP/1.1 400 Bad Request")
  }
  expect(await statusOf(handshake({ headers: { "sec-websocket-version": "7" } }))).toMatch(/^HTTP\/1\.1 4(00|26) /)
  expect(await statusOf(["GET /db HTTP/1.1", "host: localhost"])).toBe("HTTP/1.1 426 Upgrade Required")
})

test("no subprotocol is confirmed, whatever is offered; a malformed offer is refused", async () => {
  const offered = { headers: { "sec-websocket-protocol": "graphql-ws, livekit" } }
  const { socket, head } = await rawRequest(server.url, handshake(offered))
  socket.destroy()
  expect(head).toContain("HTTP/1.1 101")
  expect(head.toLowerCase()).not.toContain("sec-websocket-protocol")
  expect(head.toLowerCase()).not.toContain("sec-websocket-extensions")
  expect(await statusOf(handshake({ headers: { "sec-websocket-protocol": "a,,b" } }))).toBe("HTTP/1.1 400 Bad Request")
  // A client that insists, as browsers do, fails by itself.
  await expect(openSocket(["livekit"])).rejects.toThrow(/subprotocol/)
})

test("a WebSocket ping is answered with its payload", async () => {
  const socket = await openSocket()
  const pong = new Promise<Buffer>((resolve) => socket.once("pong", resolve))
  socket.ping("abc")
  expect((await pong).toString()).toBe("abc")
  socket.terminate()
})
