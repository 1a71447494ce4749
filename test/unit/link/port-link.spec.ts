import { expect, test } from "@playwright/test"
import { PortLink } from "../../../src/link/port-link.ts"
import { OracleClientMessage, OracleServerMessage } from "../../fixtures/oracle.ts"
import { TestService, token } from "../../fixtures/service.ts"

type Message = NonNullable<ConstructorParameters<typeof OracleClientMessage>[0]>["message"]

/** A client of another make: a bare port, the independent codec, and no idea of anything beside frames. */
class BarePort {
  readonly port: MessagePort
  /** Whatever came, as it came. */
  readonly came: unknown[] = []
  #wake = () => {}

  constructor(at: TestService) {
    const { port1, port2 } = new MessageChannel()
    this.port = port1
    port1.onmessage = ({ data }) => {
      this.came.push(data)
      this.#wake()
    }
    at.service.accept(new PortLink(port2))
  }

  send(requestId: number, message: NonNullable<Message>): void {
    const frame = new Uint8Array(new OracleClientMessage({ requestId, message }).toBinary()).buffer
    this.port.postMessage(frame, [frame])
  }

  async next(): Promise<unknown> {
    while (this.came.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.came.shift()
  }

  async nextFrame() {
    const data = await this.next()
    expect(data).toBeInstanceOf(ArrayBuffer)
    const { requestId, message } = OracleServerMessage.fromBinary(new Uint8Array(data as ArrayBuffer))
    return { requestId, kind: message.case }
  }

  async hello(at: TestService): Promise<void> {
    this.send(1, { case: "hello", value: { token: token(), databaseId: at.databaseId } })
    expect(await this.nextFrame()).toEqual({ requestId: 1, kind: "helloOk" })
  }

  [Symbol.dispose](): void {
    this.port.close()
  }
}

test("a frame is one ArrayBuffer each way, and a client needs nothing else", async () => {
  await using at = await TestService.start()
  using client = new BarePort(at)
  await client.hello(at)
  client.send(2, { case: "query", value: { sql: "SELECT 1" } })
  const kinds = [await client.nextFrame(), await client.nextFrame(), await client.nextFrame()]
  expect(kinds.map(({ kind }) => kind)).toEqual(["columns", "columnBatch", "done"])
  client.send(3, { case: "ping", value: { timestampMs: 1n } })
  expect(await client.nextFrame()).toEqual({ requestId: 3, kind: "pong" })
})

test("sending takes the frame's buffer: it moves and is not copied", () => {
  const { port1, port2 } = new MessageChannel()
  const frame = new Uint8Array(1000)
  new PortLink(port1).send(frame)
  expect(frame.byteLength).toBe(0)
  port1.close()
  port2.close()
})

test("a close is a plain object with WebSocket's code and a reason, behind everything that was said", async () => {
  await using at = await TestService.start()
  using client = new BarePort(at)
  client.send(1, { case: "hello", value: { token: "nonsense", databaseId: at.databaseId } })
  expect(await client.nextFrame()).toEqual({ requestId: 1, kind: "error" })
  expect(await client.next()).toEqual({ close: { code: 1008, reason: expect.any(String) } })
})

test("text, views and objects that are no notice close with 1003; bytes that are no frame with 1007", async () => {
  await using at = await TestService.start()
  const cases: [unknown, number][] = [
    ["text", 1003],
    [new Uint8Array([8, 1]), 1003],
    [{ close: 1000 }, 1003],
    [{ signal: { url: 5 } }, 1003],
    [null, 1003],
    [new Uint8Array([0xff, 0xff]).buffer, 1007],
  ]
  for (const [data, code] of cases) {
    using client = new BarePort(at)
    await client.hello(at)
    client.port.postMessage(data)
    expect(await client.next(), String(data)).toEqual({ close: { code, reason: expect.any(String) } })
  }
})

test("a close notice of the client ends the socket: its transaction is rolled back and nothing is answered", async () => {
  await using at = await TestService.start()
  const other = await at.connect()
  await other.exec("CREATE TABLE t(x)")
  for (const code of [1000, 1001, 4000]) {
    using client = new BarePort(at)
    await client.hello(at)
    client.send(2, { case: "begin", value: {} })
    client.send(3, { case: "exec", value: { sql: "INSERT INTO t VALUES(1)" } })
    expect([await client.nextFrame(), await client.nextFrame()].map(({ kind }) => kind)).toEqual([
      "execResult",
      "execResult",
    ])
    client.port.postMessage({ close: { code, reason: "bye" } })
    expect((await other.exec("DELETE FROM t")).execs[0]?.rowsAffected).toBe(0n)
    expect(client.came).toEqual([])
  }
})
