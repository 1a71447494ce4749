import { holds, same } from "../deviation.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { wide } from "../sql.ts"
import { pause } from "../stage.ts"

export const batch = new Section("batch")
  .rule("batch.atomic", "A batch is atomic and in order.", async (stage) => {
    const [peer, other] = await stage.two()
    const done = succeeded(
      await peer.batch("CREATE TABLE t(x)", ["INSERT INTO t VALUES(?)", 1n], "UPDATE t SET x = x + 1"),
    )
    same(done.done?.tip, 1n, "the tip of one commit")
    same(await stage.rows(other, "SELECT x FROM t"), [[2n]])
    refused(
      await peer.batch("INSERT INTO t VALUES(3)", "INSERT INTO nope VALUES(1)", "INSERT INTO t VALUES(4)"),
      "SQLITE_ERROR",
    )
    same(await stage.rows(other, "SELECT x FROM t"), [[2n]])
  })
  .rule("batch.nothing-before", "Nothing is sent before it has committed.", async (stage) => {
    const peer = await stage.connect()
    const { kinds } = await peer.batch(
      "SELECT 1",
      "CREATE TABLE t(x)",
      "INSERT INTO t VALUES(1) RETURNING x",
      "nonsense",
    )
    same(kinds, ["error"])
  })
  .rule(
    "batch.answer",
    "Then, in statement order: one ExecResult, or Columns (even for no rows) and ColumnBatches; and at the end one Done for the whole.",
    async (stage) => {
      const peer = await stage.connect()
      const { kinds, columns, rows } = succeeded(
        await peer.batch(
          "CREATE TABLE t(id INTEGER PRIMARY KEY, x)",
          "INSERT INTO t(x) VALUES('a'), ('b')",
          "SELECT x FROM t ORDER BY id",
          "SELECT x FROM t WHERE 0",
          "UPDATE t SET x = 'c' WHERE id = 2 RETURNING id, x",
          "DELETE FROM t WHERE id = 1",
        ),
      )
      const each = ["execResult", "execResult", "columns columnBatch", "columns", "columns columnBatch", "execResult"]
      same(kinds, [...each.join(" ").split(" "), "done"])
      same(
        [columns, rows],
        [
          [["x"], ["x"], ["id", "x"]],
          [["a"], ["b"], [2n, "c"]],
        ],
      )
    },
  )
  .rule("batch.tip", "Each ExecResult carries the tip of the commit.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(id INTEGER PRIMARY KEY)")
    const { execs } = succeeded(await peer.batch("INSERT INTO t VALUES(5)", "DELETE FROM t WHERE 0", "DELETE FROM t"))
    same(execs, [
      { rowsAffected: 1n, lastInsertId: 5n, tip: 2n },
      { rowsAffected: 0n, lastInsertId: 0n, tip: 2n },
      { rowsAffected: 1n, lastInsertId: 0n, tip: 2n },
    ])
  })
  .rule("batch.total", "Done has `total_rows` over all statements.", async (stage) => {
    const peer = await stage.connect()
    const answer = succeeded(await peer.batch("SELECT 1", "SELECT * FROM (VALUES(1),(2))", "SELECT 1 WHERE 0"))
    same(answer.done, { tip: 0n, totalRows: 3n })
  })
  .rule("batch.credit", "Its ColumnBatches are paced by the credit of the batch's `request_id`.", async (stage) => {
    const peer = await stage.connect()
    const { batchBytes, initialCredit } = stage.limits
    const sql = wide(initialCredit, batchBytes)
    const statements = [{ sql }, { sql: "CREATE TABLE t(x)" }, { sql }]
    const sent = peer.request({ case: "batch", value: { statements } }, [])
    await stage.hasBatches(peer, sent.id, initialCredit)
    // Committed all the same.
    same(await stage.count(peer), 0)
    peer.credit(sent.id, 1)
    await stage.hasBatches(peer, sent.id, initialCredit + 1)
    peer.credit(sent.id, initialCredit)
    same(succeeded(await sent.answer).done?.totalRows, BigInt(2 * initialCredit))
  })
  .rule(
    "batch.failure",
    "Failure is one Error, and nothing is applied. Its message starts with `statement N: ` (0-based).",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE u(k UNIQUE)")
      const { kinds, error } = await peer.batch("INSERT INTO u VALUES(1)", "SELECT 1", "INSERT INTO u VALUES(1)")
      same(kinds, ["error"])
      same(error, { code: "SQLITE_CONSTRAINT_UNIQUE", message: "statement 2: UNIQUE constraint failed: u.k" })
      same(await stage.count(peer, "u"), 0)
      const first = refused(await peer.batch("nonsense"), "SQLITE_ERROR")
      holds(first.message.startsWith("statement 0: "), "statement 0: ...", first.message)
    },
  )
  .rule("batch.commit-failure", "A failure of the commit itself names no statement.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(
      peer,
      "CREATE TABLE p(id INTEGER PRIMARY KEY)",
      "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
    )
    const { message } = refused(await peer.batch("INSERT INTO c VALUES(1)"), "SQLITE_CONSTRAINT_FOREIGNKEY")
    holds(!message.includes("statement"), "a message without a statement", message)
    same(await stage.count(peer, "c"), 0)
  })
  .rule(
    "batch.savepoints",
    "Savepoint statements inside a batch are refused (`failed_precondition`).",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      for (const sql of ["SAVEPOINT s", "RELEASE s", "ROLLBACK TO s"]) {
        refused(await peer.batch("INSERT INTO t VALUES(1)", sql), "failed_precondition", sql)
      }
      same(await stage.count(peer), 0)
    },
  )
  .rule("batch.empty", "An empty batch answers Done.", async (stage) => {
    const peer = await stage.connect()
    const { kinds, done } = await peer.batch()
    same([kinds, done], [["done"], { tip: 0n, totalRows: 0n }])
  })
  .rule("batch.inside", "Inside a transaction a batch is a savepoint of it.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(x)")
    succeeded(await peer.begin())
    succeeded(await peer.batch("INSERT INTO t VALUES(1)", "INSERT INTO t VALUES(2)"))
    refused(await peer.batch("INSERT INTO t VALUES(3)", "INSERT INTO nope VALUES(1)"), "SQLITE_ERROR")
    succeeded(await peer.commit())
    same(await stage.rows(peer, "SELECT x FROM t ORDER BY x"), [[1n], [2n]])
  })
  .rule(
    "batch.first-frame",
    "A peer that takes only the first frame of a batch's answer and drops the rest keeps working.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      const { batchBytes, initialCredit } = stage.limits
      for (let i = 1; i <= 3; i++) {
        const statements = [{ sql: "INSERT INTO t VALUES(1)" }, { sql: wide(initialCredit + 2, batchBytes) }]
        const { id } = peer.request({ case: "batch", value: { statements } }, [])
        while (peer.kinds(id).length === 0) await pause(1)
        same(peer.kinds(id)[0], "execResult")
        same(await stage.count(peer), i)
      }
    },
  ).rules
