import { same } from "../deviation.ts"
import { fills } from "../needs.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { numbers, wide } from "../sql.ts"
import { settle } from "../stage.ts"

export const query = new Section("query and credit")
  .rule(
    "query.columns",
    "query answers Columns (always, also for zero rows; empty for a statement with no columns), ColumnBatch*, Done.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(id INTEGER PRIMARY KEY, title)")
      const none = succeeded(await peer.query("SELECT id, title, 1+1 AS two FROM t WHERE 0"))
      same([none.kinds, none.columns], [["columns", "done"], [["id", "title", "two"]]], "zero rows")
      const one = succeeded(await peer.query('SELECT 1 AS a, 2 AS a, 3 AS ""'))
      same([one.kinds, one.columns], [["columns", "columnBatch", "done"], [["a", "a", ""]]], "one row")
      for (const sql of ["CREATE TABLE u(x)", "DELETE FROM t", "PRAGMA user_version = 7"]) {
        const { kinds, columns } = succeeded(await peer.query(sql), sql)
        same([kinds, columns], [["columns", "done"], [[]]], sql)
      }
    },
  )
  .rule("query.done", "Done has `total_rows`, and as `tip` the snapshot that the query ran at.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(x)", "INSERT INTO t VALUES(1), (2), (3)")
    same(succeeded(await peer.query("SELECT x FROM t")).done, { tip: 2n, totalRows: 3n })
    same(succeeded(await peer.query(numbers(5_000))).done, { tip: 2n, totalRows: 5_000n })
  })
  .rule("query.error", "An error after rows were sent is an Error and never a Done.", async (stage) => {
    const peer = await stage.connect()
    const { batchBytes } = stage.limits
    const sql = `SELECT abs(column1), zeroblob(${batchBytes}) FROM (VALUES(1),(2),(-9223372036854775808),(4))`
    const { kinds, rows, error } = await peer.query(sql)
    same([kinds.at(-1), kinds.includes("done")], ["error", false])
    same([rows.map(([x]) => x), error], [[1n, 2n], { code: "SQLITE_ERROR", message: "integer overflow" }])
    same(await stage.rows(peer, "SELECT 1"), [[1n]])
  })
  .rule(
    "query.snapshot",
    "The result is the snapshot at the moment the query started, whatever is written meanwhile, on this socket or another.",
    async (stage) => {
      const [a, b] = await stage.two()
      const { batchBytes, initialCredit } = stage.limits
      await stage.setUp(a, "CREATE TABLE t(x, filler)", `INSERT INTO t ${wide(12, batchBytes)}`)
      const stream = a.stream("SELECT x, filler FROM t")
      await stage.hasBatches(a, stream.id, initialCredit)
      await stage.setUp(a, "UPDATE t SET x = x + 100")
      await stage.setUp(b, "DELETE FROM t WHERE x > 105", "DROP TABLE t")
      a.credit(stream.id, 100)
      const { rows, done } = succeeded(await stream.answer)
      same(
        rows.map(([x]) => x),
        Array.from({ length: 12 }, (_, i) => BigInt(i)),
      )
      same(done, { tip: 2n, totalRows: 12n })
    },
  )
  .rule(
    "query.writes",
    "A query that writes (`INSERT ... RETURNING`) commits first, and only then streams what it returned.",
    async (stage) => {
      const [a, b] = await stage.two()
      const { batchBytes, initialCredit } = stage.limits
      await stage.setUp(a, "CREATE TABLE t(x, filler)")
      const stream = a.stream(`INSERT INTO t ${wide(12, batchBytes)} RETURNING x, filler`)
      await stage.hasBatches(a, stream.id, initialCredit)
      same(await stage.count(b), 12)
      await stage.setUp(b, "DELETE FROM t")
      a.credit(stream.id, 100)
      same(succeeded(await stream.answer).done, { tip: 2n, totalRows: 12n })
    },
  )
  .rule(
    "query.captured",
    "That is captured; over `captureBytes` (64 MiB) it is rolled back and nothing is applied.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      const { captureBytes, maxFrameBytes } = stage.limits
      const size = Math.floor(Math.min(maxFrameBytes, captureBytes) / 4)
      const count = Math.ceil(captureBytes / size) + 1
      const values = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT ${count}) SELECT zeroblob(${size}) FROM c`
      refused(await peer.query(`INSERT INTO t ${values} RETURNING x`), "resource_exhausted")
      const { rows, done } = succeeded(await peer.query("SELECT count(*) FROM t"))
      same([rows, done?.tip], [[[0n]], 1n])
    },
    fills("captureBytes"),
  )
  .rule(
    "credit.initial",
    "The query carries an implied initial window of `initialCredit` (4) batches.",
    async (stage) => {
      const peer = await stage.connect()
      const { batchBytes, initialCredit } = stage.limits
      const stream = peer.stream(wide(initialCredit + 8, batchBytes))
      await stage.hasBatches(peer, stream.id, initialCredit)
    },
  )
  .rule(
    "credit.one-per-batch",
    "A peer that sends one Credit per batch taken, and none first, works.",
    async (stage) => {
      const peer = await stage.connect()
      const { answer } = peer.request({ case: "query", value: { sql: wide(20, stage.limits.batchBytes) } })
      same(succeeded(await answer).done?.totalRows, 20n)
    },
  )
  .rule("credit.adds", "Credit adds to it; 0 is a no-op.", async (stage) => {
    const peer = await stage.connect()
    const { batchBytes, initialCredit } = stage.limits
    const stream = peer.stream(wide(initialCredit + 12, batchBytes))
    await stage.hasBatches(peer, stream.id, initialCredit, "at first:")
    peer.credit(stream.id, 0)
    await stage.hasBatches(peer, stream.id, initialCredit, "after 0:")
    peer.credit(stream.id, 2)
    await stage.hasBatches(peer, stream.id, initialCredit + 2, "after 2:")
    peer.credit(stream.id, 1)
    peer.credit(stream.id, 2)
    await stage.hasBatches(peer, stream.id, initialCredit + 5, "after 1 and 2:")
    peer.credit(stream.id, 100)
    same(succeeded(await stream.answer).done?.totalRows, BigInt(initialCredit + 12))
  })
  .rule("credit.at-once", "Credit that comes right behind its query counts.", async (stage) => {
    const peer = await stage.connect()
    const { batchBytes, initialCredit } = stage.limits
    const stream = peer.stream(wide(initialCredit + 8, batchBytes), 3)
    await stage.hasBatches(peer, stream.id, initialCredit + 3)
  })
  .rule("credit.saturates", "It saturates at 2^32-1.", async (stage) => {
    const peer = await stage.connect()
    const stream = peer.stream(wide(30, stage.limits.batchBytes), 0xffff_ffff, 0xffff_ffff, 1)
    same(succeeded(await stream.answer).done?.totalRows, 30n)
  })
  .rule("credit.per-request", "Credit is per `request_id`.", async (stage) => {
    const peer = await stage.connect()
    const { batchBytes, initialCredit } = stage.limits
    const [a, b] = [peer.stream(wide(12, batchBytes)), peer.stream(wide(12, batchBytes))]
    peer.credit(a.id, 2)
    await stage.hasBatches(peer, a.id, initialCredit + 2)
    await stage.hasBatches(peer, b.id, initialCredit)
  })
  .rule(
    "credit.only-batches",
    "Only a ColumnBatch costs credit: Columns, Done, ExecResult and Error never do.",
    async (stage) => {
      const peer = await stage.connect()
      const { batchBytes, initialCredit } = stage.limits
      const exact = peer.stream(wide(initialCredit, batchBytes))
      same(succeeded(await exact.answer).done?.totalRows, BigInt(initialCredit), "Columns and Done")
      const overflow = `SELECT abs(CASE x WHEN ${initialCredit} THEN -9223372036854775807 - 1 ELSE x END), z FROM (${wide(
        initialCredit + 1,
        batchBytes,
      ).replace(/zeroblob\(\d+\)/, "$& AS z")})`
      refused(await peer.stream(overflow).answer, "SQLITE_ERROR", "Error")
    },
  )
  .rule("credit.unknown", "Credit or Cancel for an unknown or ended request is ignored silently.", async (stage) => {
    const peer = await stage.connect()
    const { id, answer } = peer.request({ case: "query", value: { sql: "SELECT 1" } })
    succeeded(await answer)
    for (const one of [id, 4_242]) {
      peer.credit(one, 7)
      peer.cancel(one)
    }
    await settle(peer)
    same(peer.kinds(4_242), [])
    // Nor is it kept for a later request of that id.
    const { batchBytes, initialCredit } = stage.limits
    const later = peer.request({ case: "query", value: { sql: wide(initialCredit + 8, batchBytes) } }, [], 4_242)
    await stage.hasBatches(peer, later.id, initialCredit)
  }).rules
