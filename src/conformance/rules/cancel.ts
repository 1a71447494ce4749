import { holds, same } from "../deviation.ts"
import { ownThread, waitsFor } from "../needs.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { endless, runaway, wide } from "../sql.ts"
import { pause, settle } from "../stage.ts"

export const cancel = new Section("Cancel and time limits")
  .rule(
    "cancel.one",
    "Cancel names its target by `request_id` and has no reply of its own: the target ends with one Error `canceled`.",
    async (stage) => {
      const peer = await stage.connect()
      const stream = peer.stream(wide(12, stage.limits.batchBytes))
      await stage.hasBatches(peer, stream.id, stage.limits.initialCredit)
      peer.cancel(stream.id)
      peer.cancel(stream.id)
      refused(await stream.answer, "canceled")
      await settle(peer)
      same(
        peer.kinds(stream.id).filter((kind) => kind === "error" || kind === "done"),
        ["error"],
      )
    },
  )
  .rule("cancel.ended", "Or it has already ended.", async (stage) => {
    const peer = await stage.connect()
    const { id, answer } = peer.request({ case: "query", value: { sql: "SELECT 1" } })
    succeeded(await answer)
    peer.cancel(id)
    await settle(peer)
    same(peer.kinds(id), ["columns", "columnBatch", "done"])
    const again = peer.request({ case: "query", value: { sql: "SELECT 2" } }, undefined, id)
    same(succeeded(await again.answer).rows, [[2n]], "the next request of that id")
  })
  .rule("cancel.queued", "A queued exec that is cancelled never runs.", async (stage) => {
    const [peer, other] = await stage.two()
    await stage.setUp(peer, "CREATE TABLE t(x)")
    succeeded(await other.begin())
    const sent = [1, 2, 3].map((x) => peer.request({ case: "exec", value: { sql: `INSERT INTO t VALUES(${x})` } }))
    await settle(peer)
    for (const i of [0, 2]) peer.cancel(sent[i]?.id ?? 0)
    await settle(peer)
    succeeded(await other.rollback())
    const codes = await Promise.all(sent.map(async ({ answer }) => (await answer).error?.code ?? "none"))
    same(codes, ["canceled", "none", "canceled"])
    same(await stage.rows(peer, "SELECT x FROM t"), [[2n]])
  })
  .rule("cancel.begin", "So is a begin that waits for its turn: the turn is not lost.", async (stage) => {
    const [peer, other] = await stage.two()
    await stage.setUp(peer, "CREATE TABLE t(x)")
    succeeded(await other.begin())
    const waiting = peer.request({ case: "begin", value: {} })
    await settle(peer)
    peer.cancel(waiting.id)
    refused(await waiting.answer, "canceled")
    succeeded(await other.rollback())
    await stage.setUp(peer, "INSERT INTO t VALUES(1)")
    refused(await peer.commit(), "failed_precondition")
  })
  .rule("cancel.between", "Cancel takes effect when the worker next yields: between batches.", async (stage) => {
    const peer = await stage.connect()
    const stream = peer.stream(endless, 0xffff_ffff)
    while (peer.batches(stream.id) < 3) await pause(1)
    peer.cancel(stream.id)
    refused(await stream.answer, "canceled")
    same(await stage.rows(peer, "SELECT 1"), [[1n]])
  })
  .rule(
    "cancel.running",
    "A running statement is interrupted, also one that produces no rows (a runaway CTE).",
    async (stage) => {
      const [peer, other] = await stage.two()
      for (const kind of ["query", "exec"] as const) {
        const target = peer.request({ case: kind, value: { sql: runaway } })
        // By now it is inside the statement.
        await pause(200)
        const held = other.query("SELECT 1")
        peer.cancel(target.id)
        refused(await target.answer, "canceled", kind)
        same(succeeded(await held).rows, [[1n]])
      }
    },
    ownThread,
  )
  .rule(
    "cancel.rolls-back",
    "Interrupting a running write rolls back the whole transaction; the socket is then in the `aborted` state.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      succeeded(await peer.begin())
      await stage.setUp(peer, "INSERT INTO t VALUES(1)")
      const write = peer.request({ case: "exec", value: { sql: `INSERT INTO t ${endless} WHERE x < 0` } })
      await pause(200)
      peer.cancel(write.id)
      refused(await write.answer, "canceled")
      refused(await peer.exec("INSERT INTO t VALUES(2)"), "aborted")
      succeeded(await peer.rollback())
      same(await stage.count(peer), 0)
    },
    ownThread,
  )
  .rule(
    "limit.statement",
    "The service's own limit, `statementMs` (30 s), ends any statement with `deadline_exceeded`.",
    async (stage) => {
      const peer = await stage.connect()
      refused(await peer.query(runaway), "deadline_exceeded", "query")
      refused(await peer.exec(runaway), "deadline_exceeded", "exec")
      refused(await peer.batch(runaway), "deadline_exceeded", "batch")
      same(await stage.rows(peer, "SELECT 1"), [[1n]])
    },
    waitsFor("statementMs"),
  )
  .rule(
    "limit.write",
    "A write that it ends has rolled back its whole transaction: `aborted` until a rollback.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      succeeded(await peer.begin())
      await stage.setUp(peer, "INSERT INTO t VALUES(1)")
      refused(await peer.exec(`INSERT INTO t ${endless} WHERE x < 0`), "deadline_exceeded")
      refused(await peer.query("SELECT 1"), "aborted")
      succeeded(await peer.rollback())
      same(await stage.count(peer), 0)
    },
    waitsFor("statementMs"),
  )
  .rule(
    "limit.credit",
    "Waiting for credit is no running time.",
    async (stage) => {
      const peer = await stage.connect()
      const stream = peer.stream(wide(12, stage.limits.batchBytes))
      await stage.hasBatches(peer, stream.id, stage.limits.initialCredit)
      for (const until = Date.now() + stage.limits.statementMs + 200; Date.now() < until; await pause(100)) {
        await peer.ping()
      }
      peer.credit(stream.id, 100)
      same(succeeded(await stream.answer).done?.totalRows, 12n)
    },
    waitsFor("statementMs"),
  ).rules

export const errors = new Section("Errors")
  .rule("error.codes", "`code` is stable and machine-readable; client-side codes never travel.", async (stage) => {
    const peer = await stage.connect()
    // Each code that a client can bring about alone. The peer looks at the code of every Error of every rule.
    refused(await peer.query(""), "invalid_argument")
    refused(await peer.exec("ATTACH ':memory:' AS x"), "permission_denied")
    refused(await peer.commit(), "failed_precondition")
    const stream = peer.stream(endless)
    peer.cancel(stream.id)
    refused(await stream.answer, "canceled")
  })
  .rule(
    "error.engine",
    "An error of the SQL engine carries SQLite's extended result name instead, with SQLite's message.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(
        peer,
        "CREATE TABLE p(id INTEGER PRIMARY KEY)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, n NOT NULL DEFAULT 1, c CHECK(c > 0), f REFERENCES p)",
        "INSERT INTO t(id, u) VALUES(1, 'a')",
      )
      const cases: [string, string, string][] = [
        ["INSERT INTO t(id) VALUES(1)", "SQLITE_CONSTRAINT_PRIMARYKEY", "UNIQUE constraint failed: t.id"],
        ["INSERT INTO t(u) VALUES('a')", "SQLITE_CONSTRAINT_UNIQUE", "UNIQUE constraint failed: t.u"],
        ["INSERT INTO t(n) VALUES(NULL)", "SQLITE_CONSTRAINT_NOTNULL", "NOT NULL constraint failed: t.n"],
        ["INSERT INTO t(c) VALUES(0)", "SQLITE_CONSTRAINT_CHECK", "CHECK constraint failed: c > 0"],
        ["INSERT INTO t(f) VALUES(9)", "SQLITE_CONSTRAINT_FOREIGNKEY", "FOREIGN KEY constraint failed"],
        ["INSERT INTO t(id) VALUES('x')", "SQLITE_MISMATCH", "datatype mismatch"],
        ["selec 1", "SQLITE_ERROR", 'near "selec": syntax error'],
        ["SELECT * FROM nope", "SQLITE_ERROR", "no such table: nope"],
        ["SELECT zeroblob(2000000000)", "SQLITE_TOOBIG", "string or blob too big"],
      ]
      for (const [sql, code, message] of cases) {
        same((await peer.exec(sql)).error, { code, message }, `exec ${sql}`)
        same((await peer.query(sql)).error, { code, message }, `query ${sql}`)
        same((await peer.batch(sql)).error, { code, message: `statement 0: ${message}` }, `batch ${sql}`)
      }
    },
  )
  .rule("error.socket-stays", "An Error to a request leaves the socket as it was.", async (stage) => {
    const peer = await stage.connect()
    for (let i = 0; i < 50; i++) refused(await peer.exec(`nonsense ${i}`), "SQLITE_ERROR")
    holds(!peer.isClosed, "an open socket", "a closed one")
    same(await stage.rows(peer, "SELECT 1"), [[1n]])
  }).rules
