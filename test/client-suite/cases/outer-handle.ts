import type { Connection, Transaction } from "agentdb-web/client"
import { assert, fails, inTime, pause } from "../check.ts"
import type { Case, Context, Group } from "../context.ts"
import { list } from "../sql.ts"

const kinds: { name: string; connect: (ctx: Context) => Promise<Connection> }[] = [
  { name: "many links", connect: (ctx) => ctx.connect() },
  { name: "one link", connect: (ctx) => ctx.connectSingle() },
]

/** Writes on the outer handle, from inside its own transaction. */
const writes: Record<string, (db: Connection) => Promise<unknown>> = {
  exec: (db) => db.exec("INSERT INTO t VALUES('outer')"),
  query: (db) => db.query("INSERT INTO t VALUES('outer') RETURNING v").all(),
  batch: (db) => db.batch(["INSERT INTO t VALUES('outer')"]),
  begin: (db) => db.begin(),
  transaction: (db) => db.transaction((tx) => tx.exec("INSERT INTO t VALUES('outer')")),
}

/** Nothing is open any more, and whoever wants to write can. */
async function worksAfterwards(ctx: Context, db: Connection, expected: unknown[]): Promise<void> {
  assert.deepEqual(await list(db, "SELECT v FROM t"), expected)
  await db.exec("INSERT INTO t VALUES('later')")
  await db.transaction((tx) => tx.exec("INSERT INTO t VALUES('later')"))
  const other = await ctx.connect()
  await other.exec("DELETE FROM t WHERE v = 'later'")
  assert.deepEqual(await list(db, "SELECT v FROM t"), expected)
}

export const outerHandle: Group = {
  name: "the outer handle",
  cases: kinds
    .flatMap(({ name, connect }): Case[] => [
      {
        name: `C20 ${name}: a write that fn waits for fails and names tx, whichever call it is`,
        // One link waits by the client's own bound, which is the default.
        limits: { writeWaitMs: name === "one link" ? 4_000 : 200 },
        async run(ctx: Context) {
          const db = await connect(ctx)
          await db.exec("CREATE TABLE t(v)")
          const running = (goesOn: boolean) =>
            db.transaction(async (tx: Transaction) => {
              await tx.exec("INSERT INTO t VALUES('inner')")
              const [error] = await Promise.all(
                Object.entries(writes).map(([call, write]) =>
                  fails(write(db), "failed_precondition", "use tx inside transaction(fn)", call),
                ),
              )
              await tx.exec("INSERT INTO t VALUES('inner')")
              if (!goesOn) throw error
            })
          await fails(inTime(running(false), 12_000, "the transaction"), "failed_precondition", "use tx")
          await worksAfterwards(ctx, db, [])
          if (name === "one link") return
          await inTime(running(true), 12_000, "the transaction")
          await worksAfterwards(ctx, db, ["inner", "inner"])
        },
      },
      {
        name: `${name}: calls of others never land inside, and all are done in the end`,
        async run(ctx: Context) {
          const db = await connect(ctx)
          await db.exec("CREATE TABLE log(seq INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT)")
          const note = (by: Connection | Transaction, who: string) => by.exec("INSERT INTO log(who) VALUES(?)", [who])
          const running = [0, 1, 2, 3, 4, 5].map(async (n) => {
            await pause(n * 3)
            return db.transaction(async (tx) => {
              await note(tx, `tx${n}`)
              await pause(5)
              await note(tx, `tx${n}`)
              await tx.transaction((inner) => note(inner, `tx${n}`))
              if (n % 2 === 1) throw new Error("undone")
            })
          })
          const transactions = Promise.allSettled(running)
          const outer = Array.from({ length: 20 }, async (_, n) => {
            await pause(n * 2)
            if (n % 3 === 0) await db.batch([{ sql: "INSERT INTO log(who) VALUES(?)", params: [`outer${n}`] }])
            else if (n % 3 === 1) await note(db, `outer${n}`)
            else await db.query("INSERT INTO log(who) VALUES(?) RETURNING seq", [`outer${n}`]).all()
          })
          await Promise.all(outer)
          const ended = await transactions
          assert.deepEqual(
            ended.map(({ status }) => status),
            ["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled", "rejected"],
          )
          const order = (await list(db, "SELECT who FROM log ORDER BY seq")) as string[]
          assert.strictEqual(order.filter((who) => who.startsWith("outer")).length, 20, String(order))
          for (const n of [0, 2, 4]) {
            const first = order.indexOf(`tx${n}`)
            assert.deepEqual(order.slice(first, first + 3), [`tx${n}`, `tx${n}`, `tx${n}`], String(order))
          }
          for (const n of [1, 3, 5]) assert.notInclude(order, `tx${n}`)
        },
      },
      {
        name: `${name}: an outer write made meanwhile waits for its turn and comes after`,
        async run(ctx: Context) {
          const db = await connect(ctx)
          await db.exec("CREATE TABLE t(v)")
          let outer: Promise<unknown> | undefined
          await db.transaction(async (tx: Transaction) => {
            await tx.exec("INSERT INTO t VALUES(1)")
            outer = db.exec("INSERT INTO t VALUES(3)")
            await pause(50)
            await tx.exec("INSERT INTO t VALUES(2)")
          })
          await outer
          assert.deepEqual(await list(db, "SELECT v FROM t ORDER BY rowid"), [1, 2, 3])
        },
      },
    ])
    .concat([
      {
        name: "many links: outer reads run beside it and see what was committed",
        async run(ctx: Context) {
          const db = await ctx.connect()
          await db.batch(["CREATE TABLE t(v)", "INSERT INTO t VALUES('before')"])
          await db.transaction(async (tx) => {
            await tx.exec("INSERT INTO t VALUES('inner')")
            const beside = await inTime(list(db, "SELECT v FROM t"), 2_000, "an outer read")
            assert.deepEqual(beside, ["before"])
            await inTime(db.exec("SELECT v FROM t"), 2_000, "an outer read by exec")
            await inTime(db.ping(), 2_000, "a ping")
          })
          assert.deepEqual(await list(db, "SELECT v FROM t"), ["before", "inner"])
        },
      },
      {
        name: "several transactions of one connection take turns",
        async run(ctx: Context) {
          for (const { connect } of kinds) {
            const db = await connect(ctx)
            await db.batch(["DROP TABLE IF EXISTS n", "CREATE TABLE n(v)", "INSERT INTO n VALUES(0)"])
            const add = async (tx: Transaction) => {
              const [v] = await list(tx, "SELECT v FROM n")
              await pause(1)
              await tx.exec("UPDATE n SET v = ?", [Number(v) + 1])
            }
            await inTime(Promise.all(Array.from({ length: 20 }, () => db.transaction(add))), 10_000, "the transactions")
            assert.deepEqual(await list(db, "SELECT v FROM n"), [20])
          }
        },
      },
    ]),
}
