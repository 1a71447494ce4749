import { expect, test } from "@playwright/test"
import { CancelSignals } from "../../../src/server/cancel-signals.ts"
import { TestService } from "../../fixtures/service.ts"
import { settle, type WirePeer } from "../../fixtures/wire-peer.ts"

type Message = Parameters<WirePeer["request"]>[0]

const kinds: Record<"exec" | "query" | "read" | "batch" | "begin" | "commit" | "rollback", Message> = {
  exec: { case: "exec", value: { sql: "INSERT INTO t VALUES(1)" } },
  query: { case: "query", value: { sql: "INSERT INTO t VALUES(2) RETURNING x" } },
  read: { case: "query", value: { sql: "SELECT 1" } },
  batch: { case: "batch", value: { statements: [{ sql: "INSERT INTO t VALUES(3)" }] } },
  begin: { case: "begin", value: {} },
  commit: { case: "commit", value: {} },
  rollback: { case: "rollback", value: {} },
}

async function start() {
  const at = await TestService.start()
  const [peer, other] = [await at.connect(), await at.connect()]
  await peer.exec("CREATE TABLE t(x)")
  return { peer, other, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

/** Nothing was stored, no transaction is open, and the turn is free. */
async function expectUntouched(peer: WirePeer, other: WirePeer): Promise<void> {
  const { rows, done } = await peer.query("SELECT count(*) FROM t")
  expect([rows, done?.tip]).toEqual([[[0n]], 1n])
  expect((await peer.commit()).error?.code).toBe("failed_precondition")
  expect((await other.begin()).error).toBeUndefined()
  expect((await other.rollback()).error).toBeUndefined()
}

test("a request of any kind that waits for the turn ends with one Error canceled and never runs", async () => {
  await using db = await start()
  const { peer, other } = db
  for (const kind of ["exec", "query", "batch", "begin"] as const) {
    await other.begin()
    const waiting = peer.request(kinds[kind])
    await settle(peer)
    peer.cancel(waiting.id)
    const { kinds: frames, error } = await waiting.answer
    expect([frames, error?.code], kind).toEqual([["error"], "canceled"])
    await other.rollback()
    await expectUntouched(peer, other)
    expect(peer.kinds(waiting.id), kind).toEqual(["error"])
  }
})

test("so does a request of any kind that is queued behind one that waits, and what is around it runs", async () => {
  await using db = await start()
  const { peer, other } = db
  for (const [kind, message] of Object.entries(kinds)) {
    await other.begin()
    const first = peer.exec("DELETE FROM t WHERE x = 0")
    const queued = peer.request(message)
    const last = peer.query("SELECT 7")
    await settle(peer)
    peer.cancel(queued.id)
    expect((await queued.answer).error?.code, kind).toBe("canceled")
    await other.rollback()
    expect((await first).error, kind).toBeUndefined()
    expect((await last).rows, kind).toEqual([[7n]])
    await expectUntouched(peer, other)
  }
})

test("the URL of a request is read after 50 ms of running and then at most every 50 ms, the probe once a socket", () => {
  const dead = new Set<string>()
  const reads: string[] = []
  const signals = new CancelSignals(
    (url) => {
      reads.push(url)
      return !dead.has(url)
    },
    () => undefined,
    () => {},
  )
  signals.accept({ probe: "blob:probe" })
  const poller = (id: number) => {
    signals.accept({ requestId: id, url: `blob:${id}` })
    return signals.poller(signals.takeUrl(id), () => false)
  }
  const first = poller(1)
  const readsAt = (poll: (ranMs: number) => boolean, ...times: number[]) => {
    reads.length = 0
    return times.map((ranMs) => `${poll(ranMs)} ${reads.splice(0).join()}`)
  }
  expect(readsAt(first, 0, 20, 49)).toEqual(["false ", "false ", "false "])
  expect(readsAt(first, 50, 51, 99)).toEqual(["false blob:probe,blob:1", "false ", "false "])
  expect(readsAt(first, 100, 149, 170, 200)).toEqual(["false blob:1", "false ", "false blob:1", "false "])
  dead.add("blob:1")
  expect(readsAt(first, 219, 220)).toEqual(["false ", "true blob:1"])
  dead.add("blob:2")
  expect(readsAt(poller(2), 49, 50)).toEqual(["false ", "true blob:2"])
  // Its URL was for one request only.
  expect(signals.takeUrl(2)).toBeUndefined()
})

test("a probe that cannot be read is tried once, and no request's URL counts or is read after it", () => {
  const reads: string[] = []
  const signals = new CancelSignals(
    (url) => {
      reads.push(url)
      return false
    },
    () => undefined,
    () => {},
  )
  signals.accept({ probe: "blob:probe" })
  for (const id of [1, 2]) {
    signals.accept({ requestId: id, url: `blob:${id}` })
    const poll = signals.poller(signals.takeUrl(id), () => false)
    expect([50, 100, 150].map(poll)).toEqual([false, false, false])
  }
  expect(reads).toEqual(["blob:probe"])
})

test("an id that was cancelled by the ring while its request waits in the queue does not run", async () => {
  const marked: number[] = []
  const ids = [[], [5]] as number[][]
  const signals = new CancelSignals(
    undefined,
    () => ({ drain: () => ids.pop() ?? [] }),
    (id) => marked.push(id),
  )
  signals.accept({ sab: new SharedArrayBuffer(8) })
  const poll = signals.poller(undefined, () => marked.includes(5))
  expect(poll(0)).toBe(true)
})
