import { holds, same } from "../deviation.ts"
import { fills } from "../needs.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"

export const sizes = new Section("Order and bounds")
  .rule(
    "sizes.outbound",
    "Outbound frames stay under `maxFrameBytes` (16 MiB).",
    async (stage) => {
      const peer = await stage.connect()
      const { maxFrameBytes } = stage.limits
      // Two that fit alone but not together. The peer checks the size of every frame.
      const size = Math.floor(maxFrameBytes * 0.6)
      const rows = await stage.rows(peer, `SELECT zeroblob(${size}) UNION ALL SELECT zeroblob(${size + 1})`)
      same(
        rows.map(([cell]) => (cell as Uint8Array).length),
        [size, size + 1],
      )
    },
    fills("maxFrameBytes", 2),
  )
  .rule("sizes.batches", "Batches aim at `batchBytes` (256 KiB), with a smaller first one.", async (stage) => {
    const peer = await stage.connect()
    const { batchBytes, firstBatchBytes } = stage.limits
    const cell = Math.max(1, Math.min(4_000, Math.floor(firstBatchBytes / 4)))
    const count = Math.ceil((firstBatchBytes + 4 * batchBytes) / cell)
    const sql = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT ${count}) SELECT zeroblob(${cell}) FROM c`
    const { id, answer } = peer.request({ case: "query", value: { sql } })
    same(succeeded(await answer).done?.totalRows, BigInt(count))
    const bytes = peer.log.filter((frame) => frame.id === id && frame.body.case === "columnBatch").map((f) => f.bytes)
    const row = cell + 200
    holds((bytes[0] ?? 0) <= firstBatchBytes + row, `a first one of about ${firstBatchBytes} bytes`, bytes[0])
    holds(Math.max(...bytes) <= batchBytes + row, `none much over ${batchBytes} bytes`, bytes)
  })
  .rule(
    "sizes.row",
    "A single row that cannot fit is `resource_exhausted`; nothing is truncated.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      const size = stage.limits.maxFrameBytes + 1
      refused(await peer.query(`SELECT zeroblob(${size})`), "resource_exhausted", "query")
      const returning = `INSERT INTO t VALUES(zeroblob(${size})) RETURNING x`
      refused(await peer.query(returning), "resource_exhausted", "INSERT ... RETURNING")
      refused(await peer.batch("INSERT INTO t VALUES(1)", returning), "resource_exhausted", "batch")
      same(await stage.count(peer), 0)
    },
    fills("maxFrameBytes", 4),
  )
  .rule(
    "sizes.names",
    "So are column names that cannot.",
    async (stage) => {
      const peer = await stage.connect()
      const { maxFrameBytes } = stage.limits
      await stage.setUp(peer, `CREATE TABLE t("${"n".repeat(Math.ceil(Math.min(maxFrameBytes, 2 ** 20) * 0.6))}")`)
      const times = Math.ceil((maxFrameBytes * 2) / 2 ** 20) + 1
      refused(await peer.query(`SELECT ${Array(times).fill("*").join()} FROM t`), "resource_exhausted")
      same(await stage.rows(peer, "SELECT 1"), [[1n]])
    },
    fills("maxFrameBytes", 3),
  )
  .rule("sizes.message", "An Error's message is truncated at 16,384 characters.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(
      peer,
      "CREATE TABLE t(x)",
      "CREATE TRIGGER g BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, printf('%.*c', 200000, 'x')); END",
    )
    const { message } = refused(await peer.exec("INSERT INTO t VALUES(1)"), "SQLITE_CONSTRAINT_TRIGGER")
    holds(message.length <= 16_384 && message.length > 1_000, "at most 16,384 characters", message.length)
  })
  .rule("oneof.unset", "Unknown or unset oneof: Error `unimplemented`, the socket stays.", async (stage) => {
    const peer = await stage.connect()
    // Nothing behind the request_id; and a member, 99, that nobody knows.
    for (const bytes of [
      [0x08, 50],
      [0x08, 50, 0x9a, 0x06, 0],
    ]) {
      const answer = peer.expect(50)
      peer.sendBytes(bytes)
      refused(await answer, "unimplemented")
    }
    same(await stage.rows(peer, "SELECT 1"), [[1n]])
  })
  .rule("fields.unknown", "Unknown fields are skipped.", async (stage) => {
    const peer = await stage.connect()
    const answer = peer.expect(60)
    // Fields 15 and 100 around `{ request_id: 60, query: { sql: "SELECT 7", 15: 1 } }`.
    const unknown = [0x78, 1, 0xa2, 0x06, 2, 0xff, 0xff]
    const sql = [...new TextEncoder().encode("SELECT 7")]
    const query = [0x0a, sql.length, ...sql, 0x78, 1]
    peer.sendBytes([...unknown, 0x08, 60, 0x22, query.length, ...query, ...unknown])
    same(succeeded(await answer).rows, [[7n]])
  })
  .rule("statement.lang", "A `lang` other than SQL: `invalid_argument`.", async (stage) => {
    const peer = await stage.connect()
    for (const lang of [1, 7]) {
      const value = { sql: "SELECT 1", lang: lang as 0 }
      for (const kind of ["exec", "query"] as const) {
        refused(await peer.request({ case: kind, value }).answer, "invalid_argument", `${kind}, lang ${lang}`)
      }
      const batch = await peer.request({ case: "batch", value: { statements: [value] } }).answer
      refused(batch, "invalid_argument", `batch, lang ${lang}`)
    }
    same(await stage.rows(peer, "SELECT 1"), [[1n]])
  }).rules
