import { expect, test } from "@playwright/test"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { startEngine } from "../../fixtures/engine.ts"
import { TestService } from "../../fixtures/service.ts"

/** Thousandths of the long form. */
const scale = Number(process.env["AGENTDB_LEAKS"] ?? 100)

test("C71 queries that end, fail and are cancelled leave no statement and no memory of the engine", async () => {
  test.setTimeout(1_200_000)
  const storage = new MemoryStorage()
  const engine = await startEngine(storage)
  await using at = await TestService.start({}, { storage, engine })
  const peer = await at.connect()
  await peer.batch("CREATE TABLE t(x)", "INSERT INTO t VALUES(1), (2), (-9223372036854775808), (4)")
  const round = async (i: number) => {
    const ended = peer.query(`SELECT x AS c${i} FROM t`)
    const unprepared = peer.query(`SELEC ${i}`)
    const failing = peer.query(`SELECT abs(x) AS c${i} FROM t`)
    const cancelled = peer.request(
      { case: "query", value: { sql: `SELECT a.x AS c${i} FROM t a, t b, t c, t d, t e, t f, t g` } },
      { credits: [] },
    )
    peer.cancel(cancelled.id)
    const answers = await Promise.all([ended, unprepared, failing, cancelled.answer])
    expect(answers.map(({ error }) => error?.code ?? "done").join()).toBe("done,SQLITE_ERROR,SQLITE_ERROR,canceled")
    peer.log.length = 0
  }
  const statements = async () => (await peer.query("SELECT count(*) FROM sqlite_stmt")).rows[0]?.[0]
  const rounds = 5 * scale
  for (let i = 0; i < Math.min(500, rounds); i++) await round(i)
  const before = engine.heap.bytes.byteLength
  for (let i = Math.min(500, rounds); i < rounds; i++) await round(i)
  expect(await statements()).toBe(1n)
  const text = "x".repeat(1 << 20)
  for (let i = 0; i < scale / 2; i++) expect((await peer.query("SELECT length(?)", text)).rows).toEqual([[1_048_576n]])
  expect(await statements()).toBe(1n)
  const grown = (engine.heap.bytes.byteLength - before) / 2 ** 20
  console.log(`${rounds * 4} queries: the engine's memory grew by ${grown} MiB`)
  expect(grown).toBeLessThan(16)
})
