import { expect, test } from "@playwright/test"
import { connect } from "../../../src/client/index.ts"
import { ColumnBatchWriter } from "../../../src/wire/column-batch-writer.ts"
import { type ClientMessage, type FakePeer, failure, pair, type Script, settle } from "./fake-peer.ts"

const terms = { databaseId: "DB_x", token: "t" }

const isQuery = ({ message }: ClientMessage) => message.case === "query"

async function open(script: Script) {
  const { link, peer } = pair(script)
  return { peer, db: await connect({ ...terms, link }) }
}

/** Sends one-row batches as credit allows, as a server does. */
function paced(total: number, window = 4): Script {
  const streams = new Map<number, { next: number; credit: number }>()
  return ({ requestId, message }, peer) => {
    if (message.case === "query") {
      peer.columns(requestId, "n")
      streams.set(requestId, { next: 0, credit: window })
    } else if (message.case === "credit") {
      const stream = streams.get(requestId)
      if (stream) stream.credit += message.value.batches
    } else if (message.case === "cancel" && streams.delete(requestId)) peer.error(requestId, "canceled")
    const stream = streams.get(requestId)
    while (stream && stream.credit > 0 && stream.next < total) {
      stream.credit--
      peer.ints(requestId, stream.next++)
    }
    if (stream?.next === total) {
      streams.delete(requestId)
      peer.done(requestId, BigInt(total))
    }
  }
}

test("nothing is sent before the stream is read", async () => {
  const { db, peer } = await open(paced(3))
  const stream = db.query("SELECT n")
  await settle()
  expect(peer.kinds).toEqual([])
  const { done } = stream
  expect(await stream.all()).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }])
  expect(await done).toEqual({ tip: 0, totalRows: 3 })
  await db.close()
})

test("a stream that is never read costs nothing", async () => {
  const { db, peer } = await open(paced(3))
  const stream = db.query("SELECT n", [], { signal: AbortSignal.timeout(1_000_000), timeoutMs: 5 })
  await new Promise((resolve) => setTimeout(resolve, 20))
  await stream[Symbol.asyncDispose]()
  expect(await failure(stream.done)).toMatchObject({ code: "canceled" })
  await settle()
  expect(peer.kinds).toEqual([])
  await db.close()
})

for (const window of [4, 0]) {
  test(`credit: window - 4 at once, then one a batch taken (server's own window ${window})`, async () => {
    const { db, peer } = await open(paced(30, window))
    const seen: unknown[] = []
    for await (const row of db.query("SELECT n", undefined, { rowMode: "array", window: 6 })) seen.push(row)
    expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => [n]))
    const credits = peer.log
      .map(({ message }) => (message.case === "credit" ? message.value.batches : 0))
      .filter(Boolean)
    expect(credits[0]).toBe(2)
    expect(new Set(credits.slice(1))).toEqual(new Set([1]))
    await db.close()
  })
}

test("a reader that takes nothing is sent no more than the window", async () => {
  const { db, peer } = await open(paced(1_000))
  const rows = db.query("SELECT n")[Symbol.asyncIterator]()
  await rows.next()
  await settle(50)
  const credits = peer.log.reduce(
    (sum, { message }) => sum + (message.case === "credit" ? message.value.batches : 0),
    4,
  )
  expect(credits).toBe(9)
  await rows.return?.()
  await db.close()
})

test("leaving early cancels once, by break, throw, return and first()", async () => {
  const leave: ((stream: AsyncIterable<unknown> & { first(): Promise<unknown> }) => Promise<void>)[] = [
    async (stream) => {
      for await (const _ of stream) break
    },
    async (stream) => {
      try {
        for await (const _ of stream) throw new Error("mine")
      } catch {}
    },
    async (stream) => {
      expect(await stream.first()).toEqual({ n: 0 })
    },
    async (stream) => {
      const rows = stream[Symbol.asyncIterator]()
      await rows.next()
      await rows.return?.()
      expect(await rows.next()).toEqual({ done: true, value: undefined })
    },
  ]
  for (const how of leave) {
    const { db, peer } = await open(paced(1_000))
    const stream = db.query("SELECT n")
    await how(stream)
    expect(await failure(stream.done)).toMatchObject({ code: "canceled" })
    await settle()
    expect(peer.kinds.filter((kind) => kind === "cancel")).toHaveLength(1)
    await db.close()
  }
})

test("batches() left early cancels, and a finished stream sends no Cancel", async () => {
  const { db, peer } = await open(paced(100))
  for await (const batch of db.query("SELECT n").batches()) {
    expect(batch.rows).toBe(1)
    break
  }
  await settle()
  expect(peer.kinds.filter((kind) => kind === "cancel")).toHaveLength(1)
  const stream = db.query("SELECT n")
  await stream.all()
  stream.cancel()
  await stream[Symbol.asyncDispose]()
  await settle()
  expect(peer.kinds.filter((kind) => kind === "cancel")).toHaveLength(1)
  await db.close()
})

test("no rows: columns are there, first() is undefined", async () => {
  const { db } = await open(({ requestId, message }, peer) => {
    if (message.case !== "query") return
    peer.columns(requestId, "id", "title")
    peer.done(requestId)
  })
  const stream = db.query("SELECT")
  expect(await stream.columns()).toEqual(["id", "title"])
  expect(await stream.columns()).toEqual(["id", "title"])
  expect(await stream.all()).toEqual([])
  expect(await db.query("SELECT").first()).toBeUndefined()
  await db.close()
})

test("an error after rows: the rows come, then the iterator throws", async () => {
  const { db } = await open(({ requestId, message }, peer) => {
    if (message.case !== "query") return
    peer.columns(requestId, "n")
    peer.ints(requestId, 1)
    peer.ints(requestId, 2)
    peer.error(requestId, "SQLITE_ERROR", "integer overflow")
  })
  const seen: unknown[] = []
  const stream = db.query("SELECT")
  const run = async () => {
    await stream.columns()
    await settle()
    for await (const row of stream) seen.push(row)
  }
  expect(await failure(run())).toMatchObject({ code: "SQLITE_ERROR", message: "integer overflow" })
  expect(seen).toEqual([{ n: 1 }, { n: 2 }])
  expect(await failure(stream.done)).toMatchObject({ code: "SQLITE_ERROR" })
  await db.close()
})

test("an error with no rows: columns() rejects too, and nothing is unhandled", async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => unhandled.push(reason)
  process.on("unhandledRejection", note)
  const { db } = await open(({ requestId }, peer) => peer.error(requestId, "SQLITE_ERROR", "no such table: t"))
  expect(await failure(db.query("SELECT").columns())).toMatchObject({ code: "SQLITE_ERROR" })
  expect(await failure(db.query("SELECT").all())).toMatchObject({ code: "SQLITE_ERROR" })
  await settle()
  process.off("unhandledRejection", note)
  expect(unhandled).toEqual([])
  await db.close()
})

test("an abort in the middle throws at the reader and drops what waits", async () => {
  const { db, peer } = await open(paced(1_000))
  const abort = new AbortController()
  const seen: unknown[] = []
  const run = async () => {
    for await (const row of db.query("SELECT n", [], { signal: abort.signal })) {
      seen.push(row)
      if (seen.length === 3) abort.abort()
    }
  }
  expect(await failure(run())).toMatchObject({ code: "canceled", name: "AbortError" })
  expect(seen).toHaveLength(3)
  await settle()
  expect(peer.kinds.filter((kind) => kind === "cancel")).toHaveLength(1)
  await db.close()
})

test("a stream is read once", async () => {
  const { db } = await open(paced(2))
  const stream = db.query("SELECT n")
  await stream.all()
  expect(await failure(stream.all())).toMatchObject({ code: "failed_precondition" })
  expect(await failure(stream.first())).toMatchObject({ code: "failed_precondition" })
  expect(await failure(stream[Symbol.asyncIterator]().next())).toMatchObject({ code: "failed_precondition" })
  expect(await failure(stream.batches()[Symbol.asyncIterator]().next())).toMatchObject({ code: "failed_precondition" })
  await db.close()
})

test("next() may be called ahead of its answers", async () => {
  const { db } = await open(paced(3))
  const rows = db.query("SELECT n")[Symbol.asyncIterator]()
  const all = await Promise.all([rows.next(), rows.next(), rows.next(), rows.next(), rows.next()])
  expect(all.map(({ value }) => value?.["n"])).toEqual([0, 1, 2, undefined, undefined])
  expect(all.map(({ done }) => done)).toEqual([false, false, false, true, true])
  await db.close()
})

function mixed(requestId: number, peer: FakePeer, names: string[], fill: (writer: ColumnBatchWriter) => void): void {
  const writer = new ColumnBatchWriter(names.length)
  fill(writer)
  writer.endRow()
  peer.columns(requestId, ...names)
  peer.link.send(writer.takeFrame(requestId))
  peer.done(requestId, 1n)
}

test("equal names are told apart, and __proto__ is an own key", async () => {
  const names = ["id", "val", "id", "id:1", "id", "__proto__", "constructor", "1"]
  const { db } = await open((request, peer) => {
    if (!isQuery(request)) return
    mixed(request.requestId, peer, names, ({ columns }) => {
      for (const [i, column] of columns.entries()) column.int(i)
    })
  })
  const row = await db.query("SELECT").first()
  expect(Object.getPrototypeOf(row)).toBe(Object.prototype)
  expect(Object.entries(row ?? {})).toEqual([
    ["1", 7],
    ["id", 0],
    ["val", 1],
    ["id:1", 2],
    ["id:1:1", 3],
    ["id:2", 4],
    ["__proto__", 5],
    ["constructor", 6],
  ])
  expect(await db.query("SELECT", [], { rowMode: "array" }).all()).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]])
  await db.close()
})

test("integers and text by option, on rows and on batches", async () => {
  const big = 2n ** 53n + 1n
  const { db, peer } = await open((request, peer) => {
    if (!isQuery(request)) return
    mixed(request.requestId, peer, ["i", "b", "t"], ({ columns }) => {
      columns[0]?.int(5)
      columns[1]?.int64(big)
      columns[2]?.text(new Uint8Array([0xff, 0x61]))
    })
  })
  expect(await db.query("SELECT").first()).toEqual({ i: 5, b: big, t: "\ufffda" })
  expect(await db.query("SELECT", [], { integers: "bigint" }).first()).toMatchObject({ i: 5n, b: big })
  expect(await failure(db.query("SELECT", [], { integers: "number" }).all())).toBeInstanceOf(RangeError)
  expect(await failure(db.query("SELECT", [], { text: "strict" }).all())).toMatchObject({ code: "invalid_response" })
  for await (const { columns } of db.query("SELECT", [], { integers: "bigint" }).batches()) {
    expect(columns[0]?.values()).toEqual([5n])
    expect(columns[1]?.ints()).toEqual(new BigInt64Array([big]))
    expect(columns[2]?.type(0)).toBe(3)
  }
  expect(peer.kinds).not.toContain("exec")
  await db.close()
})

test("two streams on one connection do not disturb each other", async () => {
  const { db } = await open(paced(50))
  const a = db.query("SELECT n")[Symbol.asyncIterator]()
  const b = db.query("SELECT n")[Symbol.asyncIterator]()
  for (let n = 0; n < 50; n++) {
    expect((await a.next()).value).toEqual({ n })
    expect((await b.next()).value).toEqual({ n })
  }
  expect((await a.next()).done).toBe(true)
  expect((await b.next()).done).toBe(true)
  await db.close()
})
