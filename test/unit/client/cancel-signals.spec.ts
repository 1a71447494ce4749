import { expect, test } from "@playwright/test"
import { cancelSignals } from "../../../src/client/cancel-signals.ts"
import { connect } from "../../../src/client/index.ts"
import { CancelRingReader, CancelRingWriter, createCancelRing } from "../../../src/link/cancel-ring.ts"
import type { Link, SignalNotice } from "../../../src/link/link.ts"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import { PortLink } from "../../../src/link/port-link.ts"
import { execOk, FakePeer, failure, settle, until } from "./fake-peer.ts"

const terms = { databaseId: "DB_x", token: "t" }

const isAlive = async (url: string) => {
  try {
    return (await (await fetch(url)).text()).length > 0
  } catch {
    return false
  }
}

/** A connection over a real MessagePort, whose signals are blob URLs, and the notices that came. */
async function overPort() {
  const { port1, port2 } = new MessageChannel()
  const peer = new FakePeer(new PortLink(port2 as never))
  const db = await connect({ ...terms, link: port1 as never })
  const urls = () => peer.signals.flatMap((notice) => ("url" in notice ? [notice] : []))
  const probe = peer.signals.flatMap((notice) => ("probe" in notice ? [notice.probe] : []))[0] ?? ""
  return { db, peer, urls, probe }
}

test("over a port: a probe with the Hello, a URL before each request that may be cancelled", async () => {
  const { db, peer, urls, probe } = await overPort()
  expect(await isAlive(probe)).toBe(true)
  await db.exec("A")
  await db.query("SELECT 1").all()
  await db.batch(["A"])
  const tx = await db.begin()
  await tx.rollback()
  await db.ping()
  await settle()
  const requests = peer.log.filter(({ message }) => ["exec", "query", "batch", "begin"].includes(message.case ?? ""))
  expect(urls().map(({ requestId }) => requestId)).toEqual(requests.map(({ requestId }) => requestId))
  // None was revoked, so one after the other used the same.
  expect(new Set(urls().map(({ url }) => url)).size).toBe(1)
  await db.close()
  await until(() => peer.closed !== undefined)
  expect(await isAlive(probe)).toBe(false)
  expect(await isAlive(urls()[0]?.url ?? "")).toBe(false)
})

test("over a port: a cancel revokes the URL of its request and no other", async () => {
  const { db, peer, urls, probe } = await overPort()
  peer.script = () => {}
  const abort = new AbortController()
  const cancelled = failure(db.exec("A", [], { signal: abort.signal }))
  const other = failure(db.exec("B"))
  await until(() => peer.texts.length === 2)
  abort.abort()
  expect(await cancelled).toMatchObject({ code: "canceled" })
  const [a, b] = urls()
  expect(await isAlive(a?.url ?? "")).toBe(false)
  expect(await isAlive(b?.url ?? "")).toBe(true)
  expect(await isAlive(probe)).toBe(true)
  peer.script = execOk
  peer.error(a?.requestId ?? -1, "canceled")
  await db.exec("C")
  const c = urls().at(-1)
  expect(c?.url).not.toBe(a?.url)
  expect(await isAlive(c?.url ?? "")).toBe(true)
  await db.close()
  await other
})

test("a late cancel of an ended request touches nothing", async () => {
  const { db, urls } = await overPort()
  const abort = new AbortController()
  await db.exec("A", [], { signal: abort.signal })
  abort.abort()
  await settle()
  expect(await isAlive(urls()[0]?.url ?? "")).toBe(true)
  await db.close()
})

test("without createObjectURL there are no signals, and everything else goes on", async () => {
  const notices: SignalNotice[] = []
  const original = URL.createObjectURL
  Object.assign(URL, { createObjectURL: undefined })
  try {
    const link = { signals: "blob", signal: (notice: SignalNotice) => notices.push(notice) } as unknown as Link
    const signals = cancelSignals(link)
    signals.announce()
    signals.arm(1)
    signals.fire(1)
    signals.end()
    expect(notices).toEqual([])
  } finally {
    Object.assign(URL, { createObjectURL: original })
  }
})

test("the ring is announced once, before the Hello", async () => {
  const [link, far] = createLinkPair()
  const order: string[] = []
  far.onsignal = (notice) => order.push(Object.keys(notice).join())
  const peer = new FakePeer(far)
  far.onsignal = (notice) => order.push(Object.keys(notice).join())
  peer.refuses = ({ requestId }) => {
    order.push("hello")
    peer.welcome(requestId)
    return true
  }
  const db = await connect({ ...terms, link })
  await db.exec("A")
  expect(order).toEqual(["sab", "hello"])
  await db.close()
})

test("the ring keeps order, wraps, and skips when it is full", () => {
  const sab = createCancelRing()
  const writer = new CancelRingWriter(sab)
  const reader = new CancelRingReader(sab)
  expect(reader.drain()).toEqual([])
  for (const id of [0, 0xffff_ffff, 5]) writer.push(id)
  expect(reader.drain()).toEqual([0, 0xffff_ffff, 5])
  for (let round = 0; round < 10; round++) {
    for (let id = 0; id < 100; id++) writer.push(round * 100 + id)
    expect(reader.drain()).toEqual(Array.from({ length: 100 }, (_, id) => round * 100 + id))
  }
  for (let id = 0; id < 300; id++) writer.push(id)
  expect(reader.drain()).toEqual(Array.from({ length: 256 }, (_, id) => id))
  writer.push(7)
  expect(reader.drain()).toEqual([7])
})

test("the ring's counters wrap at 32 bits", () => {
  const sab = createCancelRing()
  new Int32Array(sab).fill(0x7fff_fffe, 0, 2)
  const writer = new CancelRingWriter(sab)
  const reader = new CancelRingReader(sab)
  for (const id of [1, 2, 3, 4]) writer.push(id)
  expect(reader.drain()).toEqual([1, 2, 3, 4])
})
