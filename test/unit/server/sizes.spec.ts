import { expect, test } from "@playwright/test"
import { TestService } from "../../fixtures/service.ts"
import type { WirePeer } from "../../fixtures/wire-peer.ts"

const largest = (peer: WirePeer) => Math.max(...peer.log.map(({ bytes }) => bytes))
const batchSizes = (peer: WirePeer, id: number) =>
  peer.log.filter((frame) => frame.id === id && frame.body.case === "columnBatch").map(({ bytes }) => bytes)

test("by default batches aim at 256 KiB, with a first one of 16 KiB", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const sql = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 400) SELECT zeroblob(4000) FROM c"
  const { id, answer } = peer.request({ case: "query", value: { sql } })
  expect((await answer).done?.totalRows).toBe(400n)
  const [first = 0, ...rest] = batchSizes(peer, id)
  const row = 4_100
  expect(first).toBeGreaterThan(4_000)
  expect(first).toBeLessThan(16 * 1024 + row)
  // A slow machine may cut one short, but not all.
  expect(Math.max(...rest)).toBeGreaterThanOrEqual(256 * 1024)
  expect(Math.max(...rest)).toBeLessThan(256 * 1024 + row)
})

test("a row arrives whole in a frame of at most the limit, or not at all", async () => {
  const maxFrameBytes = 50_000
  await using at = await TestService.start({ maxFrameBytes })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  const codes: (string | undefined)[] = []
  for (let bytes = maxFrameBytes - 300; bytes <= maxFrameBytes; bytes += 4) {
    const { rows, error } = await peer.query("SELECT zeroblob(?)", BigInt(bytes))
    codes.push(error?.code)
    const [length] = rows.map(([cell]) => (cell as Uint8Array).length)
    expect([length, error?.code]).toEqual(error ? [undefined, "resource_exhausted"] : [bytes, undefined])
  }
  expect(new Set(codes)).toEqual(new Set([undefined, "resource_exhausted"]))
  expect(largest(peer)).toBeLessThanOrEqual(maxFrameBytes)
  // On the paths that keep rows before they are sent nothing is applied.
  const tooBig = "INSERT INTO t VALUES(zeroblob(60000)) RETURNING x"
  expect((await peer.query(tooBig)).error?.code).toBe("resource_exhausted")
  expect((await peer.batch("INSERT INTO t VALUES(1)", tooBig)).error).toMatchObject({
    code: "resource_exhausted",
    message: expect.stringMatching(/^statement 1: /),
  })
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
  expect((await peer.exec(tooBig)).execs[0]?.rowsAffected).toBe(1n)
})

test("column names that fit no frame are resource_exhausted on every path, nothing applied, and the socket stays", async () => {
  await using at = await TestService.start({ maxFrameBytes: 100_000 })
  const peer = await at.connect()
  await peer.exec(`CREATE TABLE t("${"n".repeat(60_000)}")`)
  const wide = "SELECT * FROM t a, t b"
  const returning = `INSERT INTO t VALUES(1) RETURNING *, *`
  for (const sql of [wide, returning]) {
    expect(await peer.query(sql), sql).toMatchObject({ kinds: ["error"], error: { code: "resource_exhausted" } })
    const batch = await peer.batch("INSERT INTO t VALUES(2)", sql)
    expect(batch, sql).toMatchObject({
      kinds: ["error"],
      error: { code: "resource_exhausted", message: expect.stringMatching(/^statement 1: /) },
    })
    await peer.begin()
    expect((await peer.query(sql)).error?.code, sql).toBe("resource_exhausted")
    expect((await peer.commit()).error, sql).toBeUndefined()
  }
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
  expect(largest(peer)).toBeLessThanOrEqual(100_000)
})

test("a message of any length fits its Error's frame", async () => {
  await using at = await TestService.start({ maxFrameBytes: 100_000 })
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await peer.exec("CREATE TRIGGER g BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, printf('%.*c', 200000, 'x')); END")
  for (const { error } of [await peer.exec("INSERT INTO t VALUES(1)"), await peer.batch("INSERT INTO t VALUES(1)")]) {
    expect(error?.code).toBe("SQLITE_CONSTRAINT_TRIGGER")
    expect(error?.message).toMatch(/x{1000}$/)
  }
  expect((await peer.query(`SELECT "${"n".repeat(99_900)}".x`)).error?.code).toBe("SQLITE_ERROR")
  expect(largest(peer)).toBeLessThanOrEqual(100_000)
})
