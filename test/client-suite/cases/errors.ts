import { AgentDBError } from "agentdb-web/client"
import { assert, failure } from "../check.ts"
import type { Context, Group } from "../context.ts"
import { list } from "../sql.ts"

/** C47: a statement that fails, SQLite's name for its class, and SQLite's text. */
const faults: [sql: string, code: string, message: string][] = [
  ["INSERT INTO t(id) VALUES(1)", "SQLITE_CONSTRAINT_PRIMARYKEY", "UNIQUE constraint failed: t.id"],
  ["INSERT INTO t(u) VALUES('a')", "SQLITE_CONSTRAINT_UNIQUE", "UNIQUE constraint failed: t.u"],
  ["INSERT INTO t(n) VALUES(NULL)", "SQLITE_CONSTRAINT_NOTNULL", "NOT NULL constraint failed: t.n"],
  ["INSERT INTO t(c) VALUES(-1)", "SQLITE_CONSTRAINT_CHECK", "CHECK constraint failed: c > 0"],
  ["INSERT INTO t(f) VALUES(99)", "SQLITE_CONSTRAINT_FOREIGNKEY", "FOREIGN KEY constraint failed"],
  ["INSERT INTO t(id) VALUES('x')", "SQLITE_MISMATCH", "datatype mismatch"],
  ["selec 1", "SQLITE_ERROR", 'near "selec": syntax error'],
  ["SELECT * FROM nope", "SQLITE_ERROR", "no such table: nope"],
  ["SELECT nope FROM t", "SQLITE_ERROR", "no such column: nope"],
]

export const errors: Group = {
  name: "errors",
  cases: [
    {
      name: "C47: code and text are the same on every path, and the stack points to the caller",
      async run(ctx: Context) {
        const db = await ctx.connect()
        await db.batch([
          "CREATE TABLE q(id INTEGER PRIMARY KEY)",
          "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, n NOT NULL DEFAULT 1, c CHECK(c > 0), f REFERENCES q(id))",
          "INSERT INTO t(id, u) VALUES(1, 'a')",
        ])
        const tx = await ctx.connect().then((other) => other.begin())
        await tx.rollback()
        // Named, so that a stack can be searched for them. Each ends in the call, so that its frame is there.
        const callers: Record<string, (sql: string) => Promise<unknown>> = {
          callsExec: function callsExec(sql) {
            return failure(db.exec(sql))
          },
          callsAll: function callsAll(sql) {
            return failure(db.query(sql).all())
          },
          callsFirst: function callsFirst(sql) {
            return failure(db.query(sql).first())
          },
          callsColumns: function callsColumns(sql) {
            return failure(db.query(sql).columns())
          },
          callsNext: function callsNext(sql) {
            return failure(db.query(sql)[Symbol.asyncIterator]().next())
          },
          callsBatch: function callsBatch(sql) {
            return failure(db.batch(["SELECT 1", sql]))
          },
          callsTxExec: async function callsTxExec(sql) {
            const tx = await db.begin()
            const error = await failure(tx.exec(sql))
            await tx.rollback()
            return error
          },
          callsTxQuery: async function callsTxQuery(sql) {
            const tx = await db.begin()
            const error = await failure(tx.query(sql).all())
            await tx.rollback()
            return error
          },
          callsTxBatch: async function callsTxBatch(sql) {
            const tx = await db.begin()
            const error = await failure(tx.batch(["SELECT 1", sql]))
            await tx.rollback()
            return error
          },
          callsTransaction: async function callsTransaction(sql) {
            return failure(db.transaction((tx) => tx.exec(sql)))
          },
        }
        for (const [sql, code, message] of faults) {
          for (const [name, call] of Object.entries(callers)) {
            const error = await call(sql)
            assert.instanceOf(error, AgentDBError, name)
            assert.instanceOf(error, Error, name)
            const ours = error as AgentDBError
            const isBatch = name.endsWith("Batch")
            assert.strictEqual(ours.code, code, `${name}: ${sql}`)
            assert.strictEqual(ours.message, `${isBatch ? "statement 1: " : ""}${message}`, name)
            assert.strictEqual(ours.statementIndex, isBatch ? 1 : undefined, name)
            assert.isFalse(ours.retryable)
            if (sql === faults[0]?.[0]) assert.include(ours.stack ?? "", name, `no caller in the stack: ${ours.stack}`)
          }
        }
        assert.deepEqual(await list(db, "SELECT id FROM t"), [1])
      },
    },
    {
      name: "the stack of a failed commit, begin and savepoint points to the caller too",
      limits: { writeWaitMs: 50 },
      async run(ctx) {
        const db = await ctx.connect()
        await db.batch(["CREATE TABLE p(id PRIMARY KEY)", "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)"])
        async function commitsInVain() {
          const tx = await db.begin()
          await tx.exec("INSERT INTO c VALUES(1)")
          const error = await failure(tx.commit())
          await tx.rollback()
          return error
        }
        function transactsInVain() {
          return failure(db.transaction((tx) => tx.exec("INSERT INTO c VALUES(1)")))
        }
        async function beginsInVain() {
          await using held = await db.begin()
          const error = await failure((await ctx.connect()).begin())
          await held.rollback()
          return error
        }
        for (const call of [commitsInVain, transactsInVain, beginsInVain]) {
          const error = await call()
          assert.instanceOf(error, AgentDBError)
          assert.include(error.stack ?? "", call.name)
        }
      },
    },
    {
      name: "each caller gets an error of its own where one event fails many",
      async run(ctx) {
        const db = await ctx.connect()
        const holder = await ctx.connect()
        await using tx = await holder.begin()
        assert.ok(tx)
        const running = [1, 2, 3].map(() => failure(db.exec("CREATE TABLE t(v)")))
        await db.ping()
        ctx.cutLinks(db)
        const errors = await Promise.all(running)
        assert.strictEqual(new Set(errors).size, 3)
        for (const error of errors) assert.propertyVal(error, "code", "disconnected")
      },
    },
    {
      name: "what the service refuses has its stable code",
      async run(ctx) {
        const db = await ctx.connect()
        for (const [sql, code] of [
          ["ATTACH ':memory:' AS x", "permission_denied"],
          ["CREATE TEMP TABLE x(v)", "permission_denied"],
          ["PRAGMA journal_mode = DELETE", "permission_denied"],
          ["SELECT last_insert_rowid()", "failed_precondition"],
          ["BEGIN", "failed_precondition"],
          ["SELECT 1; SELECT 2", "invalid_argument"],
        ] as const) {
          for (const call of [db.exec(sql), db.query(sql).all(), db.batch([sql])]) {
            const error = await failure(call, sql)
            // Inside a batch a connection's own functions have a meaning.
            if (sql === "SELECT last_insert_rowid()" && call instanceof Promise && !("code" in error)) continue
            assert.propertyVal(error, "code", code, sql)
          }
        }
      },
    },
  ],
}
