import type { Answer } from "../answer.ts"
import { holds, same } from "../deviation.ts"
import { fills, waitsFor } from "../needs.ts"
import { type Peer, refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { wide } from "../sql.ts"
import type { Stage } from "../stage.ts"
import { pause, settle } from "../stage.ts"

const insert = (x: number) => `INSERT INTO t VALUES(${x})`
const xs = (stage: Stage, peer: Peer) =>
  stage.rows(peer, "SELECT x FROM t ORDER BY x").then((rows) => rows.map(([x]) => Number(x)))

/** Two sockets on a database with an empty table. */
async function withTable(stage: Stage): Promise<[Peer, Peer]> {
  const [a, b] = await stage.two()
  await stage.setUp(a, "CREATE TABLE t(x)")
  return [a, b]
}

export const transactions = new Section("Transactions")
  .rule("tx.answers", "begin, commit and rollback answer ExecResult (0, 0, tip).", async (stage) => {
    const [a] = await withTable(stage)
    const result = (tip: bigint) => [{ rowsAffected: 0n, lastInsertId: 0n, tip }]
    same(succeeded(await a.begin()).execs, result(1n), "begin")
    await stage.setUp(a, insert(1))
    same(succeeded(await a.commit()).execs, result(2n), "commit")
    succeeded(await a.begin())
    await stage.setUp(a, insert(1))
    same(succeeded(await a.rollback()).execs, result(2n), "rollback")
  })
  .rule(
    "tx.socket",
    "The transaction belongs to the socket: others see nothing of it before its commit.",
    async (stage) => {
      const [a, b] = await withTable(stage)
      succeeded(await a.begin())
      await stage.setUp(a, insert(1))
      same([await stage.count(a), await stage.count(b)], [1, 0], "inside and outside")
      succeeded(await a.commit())
      same(await stage.count(b), 1, "after the commit")
      succeeded(await a.begin())
      await stage.setUp(a, insert(2))
      succeeded(await a.rollback())
      same([await stage.count(a), await stage.count(b)], [1, 1], "after a rollback")
    },
  )
  .rule("tx.turn", "Begin takes the write turn, in arrival order among sockets, and waits for it.", async (stage) => {
    const [a, b] = await withTable(stage)
    const c = await stage.connect()
    succeeded(await a.begin())
    const second = b.begin()
    await settle(b)
    const third = c.exec("INSERT INTO t SELECT count(*) FROM t")
    await settle(c)
    same([b.log.at(-1)?.body.case, c.log.at(-1)?.body.case], ["pong", "pong"], "what waits is not answered")
    succeeded(await a.rollback())
    succeeded(await second)
    await stage.setUp(b, insert(7))
    succeeded(await b.commit())
    succeeded(await third)
    same(await xs(stage, a), [1, 7])
  })
  .rule("tx.close", "Closing the socket rolls back.", async (stage) => {
    const [a, b] = await withTable(stage)
    succeeded(await a.begin())
    await stage.setUp(a, insert(1))
    a.close()
    await stage.setUp(b, insert(2))
    same(await xs(stage, b), [2])
  })
  .rule(
    "turn.wait",
    "Any request waits for the turn at most `writeWaitMs` (4 s), then answers `unavailable`: it was not executed.",
    async (stage) => {
      const [a, b] = await withTable(stage)
      succeeded(await a.begin())
      const others = [b, await stage.connect(), await stage.connect(), await stage.connect()] as const
      const waiting = [
        others[0].exec(insert(1)),
        others[1].batch(insert(2)),
        others[2].begin(),
        others[3].query(`${insert(3)} RETURNING x`),
      ]
      // The turn's holder is not idle meanwhile.
      let waits = true
      const holding = (async () => {
        while (waits) {
          await stage.count(a)
          await pause(100)
        }
      })()
      const answers = await Promise.all(waiting)
      waits = false
      await holding
      for (const answer of answers) refused(answer, "unavailable")
      succeeded(await a.rollback())
      same(await xs(stage, b), [])
      await stage.setUp(b, insert(4))
    },
    waitsFor("writeWaitMs"),
  )
  .rule(
    "tx.state",
    "A second begin, or a commit or rollback without begin: Error `failed_precondition`, state unchanged.",
    async (stage) => {
      const [a, b] = await withTable(stage)
      refused(await a.commit(), "failed_precondition", "commit")
      refused(await a.rollback(), "failed_precondition", "rollback")
      await stage.setUp(b, insert(1))
      succeeded(await a.begin())
      await stage.setUp(a, insert(2))
      refused(await a.begin(), "failed_precondition", "a second begin")
      succeeded(await a.commit())
      same(await xs(stage, b), [1, 2])
    },
  )
  .rule(
    "tx.failed-commit",
    "A commit that fails (a deferred foreign key) leaves the transaction open and says so.",
    async (stage) => {
      const [a] = await stage.two()
      await stage.setUp(
        a,
        "CREATE TABLE p(id INTEGER PRIMARY KEY)",
        "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
      )
      succeeded(await a.begin())
      await stage.setUp(a, "INSERT INTO c VALUES(1)")
      const { message } = refused(await a.commit(), "SQLITE_CONSTRAINT_FOREIGNKEY")
      holds(/open/.test(message), "a message that says the transaction is open", message)
      await stage.setUp(a, "INSERT INTO p VALUES(1)")
      succeeded(await a.commit())
      same(await stage.count(a, "c"), 1)
    },
  )
  .rule(
    "tx.aborted",
    "If the engine itself ended the transaction, later statements get `aborted` until a rollback. It is never silently autocommit.",
    async (stage) => {
      const [a, b] = await withTable(stage)
      await stage.setUp(a, "CREATE TABLE u(k UNIQUE ON CONFLICT ROLLBACK)")
      succeeded(await a.begin())
      await stage.setUp(a, insert(1), "INSERT INTO u VALUES(1)")
      refused(await a.exec("INSERT INTO u VALUES(1)"), "SQLITE_CONSTRAINT_UNIQUE")
      const later: [string, Answer][] = [
        ["exec", await a.exec(insert(2))],
        ["query", await a.query("SELECT 1")],
        ["batch", await a.batch(insert(3))],
        ["begin", await a.begin()],
      ]
      for (const [kind, answer] of later) refused(answer, "aborted", kind)
      // The turn is free already.
      await stage.setUp(b, insert(7))
      succeeded(await a.rollback())
      same(await xs(stage, a), [7])
    },
  )
  .rule("tx.aborted-commit", "Or until a commit, which answers `aborted` and clears it.", async (stage) => {
    const [a] = await withTable(stage)
    await stage.setUp(a, "CREATE TABLE u(k UNIQUE)")
    succeeded(await a.begin())
    await stage.setUp(a, "INSERT INTO u VALUES(1)")
    refused(await a.exec("INSERT OR ROLLBACK INTO u VALUES(1)"), "SQLITE_CONSTRAINT_UNIQUE")
    refused(await a.commit(), "aborted")
    await stage.setUp(a, insert(1))
    same([await stage.count(a), await stage.count(a, "u")], [1, 0])
  })
  .rule(
    "tx.idle",
    "A transaction that is idle for `txIdleMs` (30 s) is over: `aborted`, and others go on.",
    async (stage) => {
      const [a, b] = await withTable(stage)
      succeeded(await a.begin())
      await stage.setUp(a, insert(1))
      for (;;) {
        const answer = await b.exec(insert(7))
        if (!answer.error) break
        refused(answer, "unavailable", "while it is not over")
      }
      refused(await a.exec(insert(2)), "aborted")
      refused(await a.commit(), "aborted")
      same(await xs(stage, a), [7])
    },
    waitsFor("txIdleMs"),
  )
  .rule(
    "tx.total",
    "A transaction is over after `txTotalMs` (5 min), however busy it is.",
    async (stage) => {
      const [a] = await withTable(stage)
      succeeded(await a.begin())
      for (let answer = await a.exec(insert(1)); ; answer = await a.exec(insert(1))) {
        if (answer.error) {
          refused(answer, "aborted")
          break
        }
        await pause(20)
      }
      succeeded(await a.rollback())
      same(await stage.count(a), 0)
    },
    waitsFor("txTotalMs"),
  )
  .rule(
    "tx.streams",
    "If a write follows while a stream of the transaction is open, the stream never sees it and never runs on for ever.",
    async (stage) => {
      const { batchBytes, initialCredit } = stage.limits
      const [a] = await stage.two()
      await stage.setUp(a, "CREATE TABLE t(x, filler)", `INSERT INTO t ${wide(8, batchBytes)}`)
      const writes: [string, (peer: Peer) => Promise<Answer>][] = [
        ["insert", (peer) => peer.exec("INSERT INTO t SELECT x + 100, filler FROM t")],
        ["delete", (peer) => peer.exec("DELETE FROM t")],
        ["update", (peer) => peer.exec("UPDATE t SET x = -1")],
        ["batch", (peer) => peer.batch("DELETE FROM t")],
        ["returning", (peer) => peer.query("DELETE FROM t RETURNING x")],
        ["DDL", (peer) => peer.exec("DROP TABLE t")],
        ["ROLLBACK TO", (peer) => peer.exec("ROLLBACK TO s")],
        ["rollback", (peer) => peer.rollback()],
      ]
      for (const [name, write] of writes) {
        succeeded(await a.begin())
        await stage.setUp(a, "SAVEPOINT s", "UPDATE t SET x = x + 1")
        const stream = a.stream("SELECT x, filler FROM t")
        await stage.hasBatches(a, stream.id, initialCredit, name)
        succeeded(await write(a), name)
        if (name !== "rollback") succeeded(await a.rollback(), name)
        a.credit(stream.id, 100)
        const { rows } = succeeded(await stream.answer, name)
        same(
          rows.map(([x]) => x),
          [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n],
          name,
        )
      }
    },
  )
  .rule(
    "tx.streams-commit",
    "A stream of the transaction lives on after its commit, from captured rows.",
    async (stage) => {
      const { batchBytes, initialCredit } = stage.limits
      const [a, b] = await stage.two()
      await stage.setUp(a, "CREATE TABLE t(x, filler)", `INSERT INTO t ${wide(8, batchBytes)}`)
      succeeded(await a.begin())
      const stream = a.stream("SELECT x, filler FROM t")
      await stage.hasBatches(a, stream.id, initialCredit)
      succeeded(await a.commit())
      await stage.setUp(b, "DELETE FROM t", "VACUUM")
      a.credit(stream.id, 100)
      same(succeeded(await stream.answer).done?.totalRows, 8n)
    },
  )
  .rule(
    "tx.captured",
    "Captured rows are bounded, `captureBytes` (64 MiB) a socket; above that, that stream ends in `resource_exhausted`.",
    async (stage) => {
      const { captureBytes, maxFrameBytes, batchBytes } = stage.limits
      const [a] = await withTable(stage)
      const size = Math.max(batchBytes, Math.floor(Math.min(maxFrameBytes, captureBytes) / 4))
      const count = Math.ceil(captureBytes / size) + stage.limits.initialCredit + 2
      await stage.setUp(
        a,
        `INSERT INTO t WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT ${count}) SELECT zeroblob(${size}) FROM c`,
      )
      succeeded(await a.begin())
      const stream = a.stream("SELECT x FROM t")
      await settle(a)
      same(succeeded(await a.exec("DELETE FROM t")).execs[0]?.rowsAffected, BigInt(count))
      a.credit(stream.id, 1_000)
      refused(await stream.answer, "resource_exhausted")
      succeeded(await a.rollback())
    },
    fills("captureBytes", 3),
  )
  .rule(
    "tx.control",
    "Transaction control as SQL text is refused with `failed_precondition`, and the message names the frame to use.",
    async (stage) => {
      const [a, b] = await withTable(stage)
      const texts: [string, RegExp][] = [
        ["BEGIN", /begin/i],
        ["begin immediate", /begin/i],
        ["/* c */ COMMIT", /commit/i],
        ["END", /commit/i],
        ["ROLLBACK", /rollback/i],
      ]
      for (const isInside of [false, true]) {
        if (isInside) succeeded(await a.begin())
        for (const [sql, frame] of texts) {
          for (const answer of [await a.exec(sql), await a.query(sql), await a.batch(sql)]) {
            const { message } = refused(answer, "failed_precondition", sql)
            holds(frame.test(message), String(frame), message, sql)
          }
        }
      }
      await stage.setUp(a, insert(1))
      succeeded(await a.rollback())
      same(await stage.count(b), 0)
    },
  )
  .rule("tx.savepoints", "SAVEPOINT, RELEASE and ROLLBACK TO work inside a transaction.", async (stage) => {
    const [a] = await withTable(stage)
    succeeded(await a.begin())
    await stage.setUp(a, insert(1), "SAVEPOINT s", insert(2), "ROLLBACK TO s", insert(3), "RELEASE s")
    refused(await a.exec("RELEASE nope"), "SQLITE_ERROR")
    succeeded(await a.commit())
    same(await xs(stage, a), [1, 3])
  })
  .rule("tx.savepoints-outside", "They are `failed_precondition` outside.", async (stage) => {
    const peer = await stage.connect()
    for (const sql of ["SAVEPOINT s", "RELEASE s", "ROLLBACK TO s"]) {
      refused(await peer.exec(sql), "failed_precondition", sql)
      refused(await peer.query(sql), "failed_precondition", sql)
    }
  })
  .rule(
    "local.functions",
    "`last_insert_rowid()`, `changes()` and `total_changes()` in SQL are `failed_precondition` outside a transaction or batch (the message says what to use).",
    async (stage) => {
      const [a] = await withTable(stage)
      const texts: [string, RegExp][] = [
        ["SELECT last_insert_rowid()", /last_insert_id|RETURNING/],
        ["SELECT changes()", /rows_affected/],
        ["SELECT total_changes()", /rows_affected/],
      ]
      for (const [sql, instead] of texts) {
        for (const answer of [await a.exec(sql), await a.query(sql)]) {
          const { message } = refused(answer, "failed_precondition", sql)
          holds(instead.test(message), String(instead), message, sql)
        }
      }
      const { rows } = succeeded(await a.batch(insert(1), "SELECT last_insert_rowid(), changes()"))
      same(rows, [[1n, 1n]], "in a batch")
    },
  )
  .rule("local.reset", "They are reset at its end.", async (stage) => {
    const [a, b] = await withTable(stage)
    const counters = "SELECT last_insert_rowid(), changes(), total_changes()"
    for (const peer of [a, b]) {
      succeeded(await peer.begin())
      same(await stage.rows(peer, counters), [[0n, 0n, 0n]])
      await stage.setUp(peer, "INSERT INTO t VALUES(1), (2)")
      succeeded(await peer.commit())
    }
  })
  .rule(
    "local.pragmas",
    "The pragmas `defer_foreign_keys` and `recursive_triggers` too: refused outside, allowed inside, and reset at its end.",
    async (stage) => {
      const [a, b] = await withTable(stage)
      for (const name of ["defer_foreign_keys", "recursive_triggers"]) {
        for (const sql of [`PRAGMA ${name}`, `PRAGMA ${name} = 1`]) {
          refused(await a.exec(sql), "failed_precondition", sql)
          refused(await a.query(sql), "failed_precondition", sql)
        }
        succeeded(await a.begin())
        await stage.setUp(a, `PRAGMA ${name} = 1`)
        same(await stage.rows(a, `PRAGMA ${name}`), [[1n]], name)
        succeeded(await a.commit())
        same(succeeded(await b.batch(`PRAGMA ${name}`)).rows, [[0n]], `${name} afterwards`)
      }
    },
  )
  .rule("local.triggers", "Inside a trigger program the functions are allowed.", async (stage) => {
    const [a] = await withTable(stage)
    await stage.setUp(
      a,
      "CREATE TABLE log(id)",
      "CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES(changes()); END",
      insert(1),
    )
    same(await stage.count(a, "log"), 1)
  }).rules
