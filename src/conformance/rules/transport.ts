import { holds, same } from "../deviation.ts"
import { fills } from "../needs.ts"
import { NotApplicable } from "../not-applicable.ts"
import { succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { closes } from "../stage.ts"

export const transport = new Section("Transport")
  .rule("transport.frame", "One frame is one protobuf message in one binary message.", async (stage) => {
    const peer = await stage.connect()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => peer.query("SELECT ?", BigInt(i))))
    same(
      answers.map(({ kinds, rows }) => [kinds, rows]),
      answers.map((_, i) => [["columns", "columnBatch", "done"], [[BigInt(i)]]]),
    )
  })
  .rule("transport.one-database", "One socket serves one database.", async (stage) => {
    const first = await stage.connect()
    await stage.setUp(first, "CREATE TABLE t(x)")
    const other = await stage.connect(await stage.create())
    same(await stage.rows(other, "SELECT count(*) FROM sqlite_schema"), [[0n]])
  })
  .rule("transport.1003", "A text or other non-binary frame closes with 1003.", async (stage) => {
    for (const isGreeted of [false, true]) {
      const peer = isGreeted ? await stage.connect() : await stage.socket()
      // A WebSocket that is still connecting takes nothing.
      if (!isGreeted && "readyState" in peer.raw) {
        const socket = peer.raw
        if (socket.readyState === 0) await new Promise((resolve) => socket.addEventListener("open", resolve))
      }
      if (!peer.sendText("text")) throw new NotApplicable("a link of this kind sends frames only")
      await closes(peer, 1003, isGreeted ? "after the Hello" : "before the Hello")
    }
  })
  .rule("transport.1007", "A frame that cannot be decoded closes with 1007.", async (stage) => {
    const garbled = [
      [0xff, 0xff, 0xff],
      [0x08],
      // An exec that claims more bytes than there are.
      [0x1a, 0x7f, 0x0a],
    ]
    for (const bytes of garbled) {
      const peer = await stage.connect()
      peer.sendBytes(bytes)
      await closes(peer, 1007, String(bytes))
    }
  })
  .rule(
    "transport.1009",
    "An inbound frame over `maxFrameBytes` (16 MiB) closes with 1009.",
    async (stage) => {
      const peer = await stage.connect()
      void peer.exec("SELECT ?", new Uint8Array(stage.limits.maxFrameBytes))
      await closes(peer, 1009)
    },
    fills("maxFrameBytes"),
  )
  .rule(
    "transport.largest",
    "A frame of almost `maxFrameBytes` (16 MiB) passes both ways.",
    async (stage) => {
      const peer = await stage.connect()
      const size = Math.floor(stage.limits.maxFrameBytes * 0.9)
      await stage.setUp(peer, "CREATE TABLE t(x)")
      succeeded(await peer.exec("INSERT INTO t VALUES(?)", new Uint8Array(size).fill(7)))
      const [[back] = []] = await stage.rows(peer, "SELECT x FROM t")
      same([(back as Uint8Array).length, (back as Uint8Array)[size - 1]], [size, 7])
    },
    fills("maxFrameBytes", 2),
  )
  .rule("transport.apart", "What closes a socket harms no other.", async (stage) => {
    const [healthy, doomed] = await stage.two()
    doomed.sendBytes([0xff, 0xff, 0xff])
    await doomed.closed
    same(await stage.rows(healthy, "SELECT 1"), [[1n]])
  })
  .rule(
    "transport.no-extras",
    "AgentDB has no subprotocol: none is confirmed. Frames are not compressed.",
    async (stage) => {
      const { raw } = await stage.connect()
      if (!("readyState" in raw)) throw new NotApplicable("only a WebSocket has subprotocols and extensions")
      same(raw.protocol ?? "", "", "the subprotocol")
      holds(!/deflate/.test(raw.extensions ?? ""), "no compression", raw.extensions)
    },
  ).rules
