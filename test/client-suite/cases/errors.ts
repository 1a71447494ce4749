import { AgentDBError, type Connection, type RowStream, type Transaction } from "agentdb-web/client"
import { assert, fails, failure, failures } from "../check.ts"
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

interface Failed {
  error: Error
  /** The place of the call, in an error that was made there. */
  here: Error
}

const caught = async (here: Error, call: () => Promise<unknown>): Promise<Failed> => ({
  error: await failure(call()),
  here,
})

async function rolledBack<T>(db: Connection, act: (tx: Transaction) => Promise<T>): Promise<T> {
  await using tx = await db.begin()
  return await act(tx)
}

function drained<T>(stream: RowStream<T>): RowStream<T> {
  stream.all().catch(() => {})
  return stream
}

/** Files with line numbers, which are the parts of a stack that every engine and bundler leaves. */
const places = ({ stack = "" }: Error) =>
  [...stack.matchAll(/([^\s(/]+):(\d+):\d+\)?$/gm)].map(([, file, line]) => ({ file, line: Number(line) }))

/** Checks that an error's stack goes through the line of the call, or the next one where a formatter broke it. */
function pointsTo(error: Error, here: Error, about: string): void {
  const [call] = places(here)
  assert.ok(call, about)
  const isThere = places(error).some(
    ({ file, line }) => file === call.file && line >= call.line && line <= call.line + 1,
  )
  assert.isTrue(isThere, `${about}: ${call.file}:${call.line} is not in ${error.stack}`)
}

export const errors: Group = {
  name: "errors",
  cases: [
    {
      name: "C47 code and text are the same on every path, and the stack points to the caller",
      async run(ctx: Context) {
        const db = await ctx.connect()
        await db.batch([
          "CREATE TABLE q(id INTEGER PRIMARY KEY)",
          "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, n NOT NULL DEFAULT 1, c CHECK(c > 0), f REFERENCES q(id))",
          "INSERT INTO t(id, u) VALUES(1, 'a')",
        ])
        const callers: Record<string, (sql: string) => Promise<Failed>> = {
          exec: (sql) => caught(new Error(), () => db.exec(sql)),
          all: (sql) => caught(new Error(), () => db.query(sql).all()),
          first: (sql) => caught(new Error(), () => db.query(sql).first()),
          columns: (sql) => caught(new Error(), () => db.query(sql).columns()),
          next: (sql) => caught(new Error(), () => db.query(sql)[Symbol.asyncIterator]().next()),
          done: (sql) => caught(new Error(), () => drained(db.query(sql)).done),
          batch: (sql) => caught(new Error(), () => db.batch(["SELECT 1", sql])),
          transaction: (sql) => caught(new Error(), () => db.transaction((tx) => tx.exec(sql))),
          "tx.exec": (sql) => rolledBack(db, (tx) => caught(new Error(), () => tx.exec(sql))),
          "tx.query": (sql) => rolledBack(db, (tx) => caught(new Error(), () => tx.query(sql).all())),
          "tx.batch": (sql) => rolledBack(db, (tx) => caught(new Error(), () => tx.batch(["SELECT 1", sql]))),
          "tx.transaction": (sql) =>
            rolledBack(db, (tx) => caught(new Error(), () => tx.transaction((inner) => inner.exec(sql)))),
        }
        for (const [sql, code, message] of faults) {
          for (const [name, call] of Object.entries(callers)) {
            const { error, here } = await call(sql)
            assert.instanceOf(error, AgentDBError, name)
            assert.instanceOf(error, Error, name)
            const ours = error as AgentDBError
            const isBatch = name.endsWith("batch")
            assert.strictEqual(ours.code, code, `${name}: ${sql}`)
            assert.strictEqual(ours.message, `${isBatch ? "statement 1: " : ""}${message}`, name)
            assert.strictEqual(ours.statementIndex, isBatch ? 1 : undefined, name)
            assert.isFalse(ours.retryable)
            pointsTo(error, here, name)
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
        await db.batch([
          "CREATE TABLE p(id PRIMARY KEY)",
          "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
        ])
        const insert = "INSERT INTO c VALUES(1)"
        const commit = await rolledBack(db, async (tx) => {
          await tx.exec(insert)
          return caught(new Error(), () => tx.commit())
        })
        pointsTo(commit.error, commit.here, "commit")
        const whole = await caught(new Error(), () => db.transaction((tx) => tx.exec(insert)))
        pointsTo(whole.error, whole.here, "transaction")
        const other = await ctx.connect()
        const begin = await rolledBack(db, () => caught(new Error(), () => other.begin()))
        pointsTo(begin.error, begin.here, "begin")
      },
    },
    {
      name: "only a batch's error names a statement, whatever its text",
      async run(ctx) {
        const db = await ctx.connect()
        await db.batch([
          "CREATE TABLE t(v)",
          "CREATE TRIGGER r BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'statement 7: no'); END",
        ])
        const insert = "INSERT INTO t VALUES(1)"
        const calls = [
          () => db.exec(insert),
          () => db.query(insert).all(),
          () => db.transaction((tx) => tx.exec(insert)),
        ]
        for (const call of calls) {
          const error = await fails(call(), "SQLITE_CONSTRAINT_TRIGGER", /^statement 7: no$/)
          assert.strictEqual(error.statementIndex, undefined)
        }
        const error = await fails(
          db.batch(["SELECT 1", insert]),
          "SQLITE_CONSTRAINT_TRIGGER",
          "statement 1: statement 7: no",
        )
        assert.strictEqual(error.statementIndex, 1)
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
          ["BEGIN", "failed_precondition"],
          ["SELECT 1; SELECT 2", "invalid_argument"],
        ] as const) {
          for (const error of await failures([db.exec(sql), db.query(sql).all(), db.batch([sql])], sql))
            assert.propertyVal(error, "code", code, sql)
        }
        // What is local to a connection has a meaning inside a batch or transaction only.
        await fails(db.exec("SELECT last_insert_rowid()"), "failed_precondition")
        await db.batch(["SELECT last_insert_rowid()"])
        await db.transaction((tx) => tx.query("SELECT changes()").all())
      },
    },
  ],
}
