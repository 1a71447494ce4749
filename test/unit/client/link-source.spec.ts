import { expect, test } from "@playwright/test"
import { WebSocket } from "ws"
import { connect } from "../../../src/client/index.ts"
import { PortLink } from "../../../src/link/port-link.ts"
import { FakePeer, failure, pair, settle } from "./fake-peer.ts"

const terms = { databaseId: "DB_x", token: "t" }

test("a bare MessagePort will do, and so will a factory of ports", async () => {
  const port = () => {
    const { port1, port2 } = new MessageChannel()
    new FakePeer(new PortLink(port2 as never))
    return port1 as never
  }
  const ready = await connect({ ...terms, link: port() })
  expect(await ready.query("SELECT 1").all()).toHaveLength(2)
  await ready.close()
  const made = await connect({ ...terms, link: async () => port() })
  await made.exec("A")
  await made.transaction((tx) => tx.exec("B"))
  await made.close()
})

test("a WebSocket is told by its shape", async () => {
  const sent: ArrayBuffer[] = []
  const socket = {
    readyState: 0,
    binaryType: "blob",
    bufferedAmount: 0,
    send: (data: Uint8Array<ArrayBuffer>) => sent.push(data.slice().buffer),
    close() {},
    onopen: () => {},
    onmessage: (_: { data: unknown }) => {},
    onclose: (_: { code: number; reason: string }) => {},
  }
  const connecting = failure(connect({ ...terms, link: socket as never }))
  await settle()
  expect(sent).toHaveLength(0)
  socket.readyState = 1
  socket.onopen()
  expect(sent).toHaveLength(1)
  socket.onclose({ code: 1006, reason: "" })
  expect(await connecting).toMatchObject({ code: "unavailable" })
  expect(await failure(connect({ ...terms, link: { ...socket, readyState: 3 } as never }))).toMatchObject({
    code: "closed",
  })
})

test("in Node, a socket that nobody answers fails the connect, and not the process", async () => {
  const refused = "ws://127.0.0.1:1/db"
  const link = () => new WebSocket(refused) as unknown as globalThis.WebSocket
  const reconnect = { maxWaitMs: 0 }
  expect(await failure(connect({ ...terms, reconnect, link }))).toMatchObject({ code: "unavailable" })
  expect(await failure(connect({ ...terms, link: link() }))).toMatchObject({ code: "unavailable" })
  const token = () => Promise.reject(new Error("no token"))
  await expect(connect({ ...terms, token, link })).rejects.toThrow("no token")
})

test("without a WebSocket in the runtime a URL is a typed error", async () => {
  test.skip("WebSocket" in globalThis, "this runtime has one")
  expect(await failure(connect({ ...terms, link: "wss://host.example/db" }))).toMatchObject({ code: "unimplemented" })
})

test("what is no link is a TypeError", async () => {
  for (const link of [undefined, null, 5, {}]) {
    expect(await failure(connect({ ...terms, link: link as never }))).toBeInstanceOf(TypeError)
  }
})

test("a ready link is used once", async () => {
  const { link, peer } = pair()
  const db = await connect({ ...terms, link })
  peer.link.close(1001)
  await settle()
  expect(await failure(db.exec("A"))).toMatchObject({ code: "closed" })
  await db.close()
})
