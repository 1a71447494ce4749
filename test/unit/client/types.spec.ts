import { expect, test } from "@playwright/test"
import {
  AgentDBError,
  type Batch,
  type BatchResult,
  type Connection,
  type ExecResult,
  type Limits,
  type Link,
  type ReconnectOptions,
  type Row,
  type Statement,
  type Status,
  sql,
  type Value,
} from "../../../src/client/index.ts"

/** Checked by the compiler only: a line that should not compile and does is an error of tsc. */
export async function typed(db: Connection): Promise<void> {
  const result: ExecResult = await db.exec("X", [1, 2n, "a", null, true, new Uint8Array(1), new ArrayBuffer(1)])
  const id: number | bigint = result.lastInsertId
  const rows: Row[] = await db.query("X").all()
  const cell: Value | undefined = rows[0]?.["a"]
  const arrays: Value[][] = await db.query("X", [], { rowMode: "array" }).all()
  const own: { id: number }[] = await db.query<{ id: number }>("X").all()
  const one: { id: number } | undefined = await db.query<{ id: number }>(sql`X`).first()
  for await (const batch of db.query("X").batches()) {
    const typed: Batch = batch
    typed.columns[0]?.ints()
  }
  const batch: BatchResult = await db.batch(["X", sql`Y ${1}`, { sql: "Z", params: [1] }, { sql: "W" }])
  const statement: Statement = sql`X`
  const value: number = await db.transaction(async (tx) => {
    await tx.transaction(async (inner) => inner.exec("X"))
    return 5
  })
  await using tx = await db.begin()
  await tx.commit()
  // @ts-expect-error an object of names is no list of positions
  await db.exec("X", { a: 1 })
  // @ts-expect-error a Date has no place in SQL
  await db.exec("X", [new Date()])
  // @ts-expect-error undefined is not NULL
  await db.exec("X", [undefined])
  // @ts-expect-error rows by default are objects
  const wrong: Value[][] = await db.query("X").all()
  // @ts-expect-error columnar is a method, not a mode
  db.query("X", [], { rowMode: "columns" })
  // @ts-expect-error a name must be given
  sql.id()
  // @ts-expect-error no Date in a template either
  sql`${new Date()}`
  // @ts-expect-error the outer begin takes options, not a function
  await db.begin(async () => {})
  const all: unknown[] = [id, cell, arrays, own, one, batch, statement, value, wrong]
  all.pop()
}

/** The names that the contract lists are there, each with its shape. */
export type Listed = [Row, Value, Statement, ExecResult, BatchResult, Batch, Limits, Status, ReconnectOptions, Link]

test("the error class is told apart across copies of the package", () => {
  const foreign = Object.assign(new Error("x"), { code: "aborted" })
  expect(foreign instanceof AgentDBError).toBe(false)
  Object.defineProperty(foreign, Symbol.for("agentdb-web.AgentDBError"), { value: true })
  expect(foreign instanceof AgentDBError).toBe(true)
  expect(new AgentDBError("unavailable", "x").retryable).toBe(true)
})
