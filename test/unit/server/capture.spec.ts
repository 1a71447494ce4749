import { expect, test } from "@playwright/test"
import { TestService } from "../../fixtures/service.ts"
import { settle, type WirePeer } from "../../fixtures/wire-peer.ts"

const oneRow = { firstBatchBytes: 1, batchBytes: 1, initialCredit: 1 }

/** About 10,000 bytes of answer. */
const tenRows = "SELECT zeroblob(980) FROM t LIMIT 10"
const open = (peer: WirePeer) => peer.request({ case: "query", value: { sql: tenRows } }, { credits: [] })

async function start() {
  const at = await TestService.start({ ...oneRow, captureBytes: 25_000 })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.batch("CREATE TABLE t(x)", "INSERT INTO t VALUES(1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11)")
  return { a, b, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

const isThere = async (peer: WirePeer, sent: ReturnType<typeof open>) => {
  peer.credit(sent.id, 100)
  const { rows, error } = await sent.answer
  return error ? error.code : rows.length
}

test("captured rows are bounded by the socket and not by the stream, and what was read or cancelled counts no more", async () => {
  await using db = await start()
  const { a, b } = db
  await a.begin()
  const streams = [open(a), open(a), open(a)]
  await settle(a)
  // Takes all three ahead: the third goes over.
  expect((await a.exec("UPDATE t SET x = 0 WHERE x = 1")).error).toBeUndefined()
  expect((await streams[2]?.answer)?.error?.code).toBe("resource_exhausted")
  expect((await a.query("INSERT INTO t SELECT 1 RETURNING zeroblob(9000)")).error?.code).toBe("resource_exhausted")
  a.cancel(streams[0]?.id as number)
  expect((await streams[0]?.answer)?.error?.code).toBe("canceled")
  expect((await a.query("INSERT INTO t SELECT 1 RETURNING zeroblob(9000)")).rows).toHaveLength(1)
  expect(await isThere(a, streams[1] as ReturnType<typeof open>)).toBe(10)
  const again = [open(a), open(a)]
  await settle(a)
  await a.exec("UPDATE t SET x = 0 WHERE x = 2")
  for (const stream of again) expect(await isThere(a, stream)).toBe(10)
  expect((await a.rollback()).error).toBeUndefined()
  // Another socket has a bound of its own.
  await a.begin()
  const kept = [open(a), open(a)]
  await settle(a)
  expect((await a.commit()).error).toBeUndefined()
  await b.begin()
  const theirs = [open(b), open(b)]
  await settle(b)
  expect((await b.commit()).error).toBeUndefined()
  for (const stream of kept) expect(await isThere(a, stream)).toBe(10)
  for (const stream of theirs) expect(await isThere(b, stream)).toBe(10)
})

test("a commit and a savepoint take streams ahead too, so that a stream left open keeps no read transaction", async () => {
  await using db = await start()
  const { a, b } = db
  for (const sql of ["SELECT 1", "SAVEPOINT s", "RELEASE s", "PRAGMA user_version = 1", "CREATE INDEX i ON t(x)"]) {
    await a.begin()
    if (sql.startsWith("RELEASE")) await a.exec("SAVEPOINT s")
    const stream = open(a)
    await settle(a)
    expect((await a.exec(sql)).error, sql).toBeUndefined()
    expect((await a.commit()).error, sql).toBeUndefined()
    // What a half-read statement on the writer would refuse.
    expect((await b.exec("VACUUM")).error, sql).toBeUndefined()
    expect(await isThere(a, stream), sql).toBe(10)
  }
})
