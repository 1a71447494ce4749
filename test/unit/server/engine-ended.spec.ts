import { expect, test } from "@playwright/test"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import type { DatabaseFiles, Storage } from "../../../src/storage/storage.ts"
import { TestService } from "../../fixtures/service.ts"
import type { WirePeer } from "../../fixtures/wire-peer.ts"

/** Memory storage whose WAL can be made to take no more bytes, as on a full disk. */
class SmallStorage extends MemoryStorage {
  isFull = false

  override async create(...args: Parameters<Storage["create"]>) {
    return this.#bounded(await super.create(...args))
  }

  #bounded(files: DatabaseFiles): DatabaseFiles {
    const { wal } = files
    const bounded = {
      read: wal.read.bind(wal),
      write: (from: Uint8Array, options: { at: number }) => (this.isFull ? 0 : wal.write(from, options)),
      truncate: wal.truncate.bind(wal),
      getSize: wal.getSize.bind(wal),
      flush: wal.flush.bind(wal),
      close: wal.close.bind(wal),
    }
    return { path: files.path, main: files.main, meta: files.meta, wal: bounded, close: () => files.close() }
  }
}

async function start(storage = new SmallStorage()) {
  const at = await TestService.start({}, { storage })
  const [a, b] = [await at.connect(), await at.connect()]
  await a.batch(
    "CREATE TABLE t(x)",
    "CREATE TABLE u(k UNIQUE)",
    "CREATE TABLE v(x)",
    "CREATE TRIGGER g BEFORE INSERT ON v BEGIN SELECT RAISE(ROLLBACK, 'no more'); END",
  )
  return { storage, a, b, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

/** Every statement is refused, another socket has the turn, and the rollback clears it. */
async function expectAborted(a: WirePeer, b: WirePeer, why: string): Promise<void> {
  for (const answer of [
    a.exec("INSERT INTO t VALUES(2)"),
    a.query("SELECT 1"),
    a.batch("SELECT 1"),
    a.batch(),
    a.begin(),
  ]) {
    expect((await answer).error?.code, why).toBe("aborted")
  }
  expect((await b.exec("INSERT INTO t VALUES(7)")).error, why).toBeUndefined()
  expect((await a.rollback()).execs[0], why).toMatchObject({ rowsAffected: 0n, lastInsertId: 0n })
  expect((await a.query("SELECT x FROM t")).rows, why).toEqual([[7n]])
  expect((await a.query("SELECT count(*) FROM u")).rows, why).toEqual([[0n]])
  await a.exec("DELETE FROM t")
}

test("whatever way the engine ends a transaction, what follows is aborted until a rollback", async () => {
  await using db = await start()
  const { a, b } = db
  const conflict = "INSERT OR ROLLBACK INTO u VALUES(1)"
  const ways: [string, (peer: WirePeer) => Promise<{ error: { code: string } | undefined }>][] = [
    ["exec", (peer) => peer.exec(conflict)],
    ["query", (peer) => peer.query(`${conflict} RETURNING k`)],
    ["query without rows", (peer) => peer.query(conflict)],
    ["batch", (peer) => peer.batch("INSERT INTO t VALUES(3)", conflict)],
    ["trigger", (peer) => peer.exec("INSERT INTO v VALUES(1)")],
    ["trigger in a batch", (peer) => peer.batch("INSERT INTO t VALUES(3)", "INSERT INTO v VALUES(1)")],
  ]
  for (const [name, end] of ways) {
    await a.begin()
    await a.exec("INSERT INTO t VALUES(1)")
    await a.exec("INSERT INTO u VALUES(1)")
    expect((await end(a)).error?.code, name).toMatch(/^SQLITE_CONSTRAINT_(UNIQUE|TRIGGER)$/)
    await expectAborted(a, b, name)
  }
})

test("a batch outside a transaction that the engine ended applies nothing, and leaves nothing open", async () => {
  await using db = await start()
  const { a, b } = db
  for (const [last, message] of [
    ["INSERT OR ROLLBACK INTO u VALUES(1)", "statement 2: UNIQUE constraint failed: u.k"],
    ["INSERT INTO v VALUES(1)", "statement 2: no more"],
    ["INSERT OR FAIL INTO u VALUES(5), (1)", "statement 2: UNIQUE constraint failed: u.k"],
  ] as const) {
    const { kinds, error } = await a.batch("INSERT INTO t VALUES(1)", "INSERT INTO u VALUES(1)", last)
    expect([kinds, error?.message]).toEqual([["error"], message])
    expect((await a.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
    expect((await a.query("SELECT count(*) FROM u")).rows).toEqual([[0n]])
    expect((await b.begin()).error).toBeUndefined()
    expect((await b.rollback()).error).toBeUndefined()
  }
})

test("nothing of a batch is sent before its commit, not even the rows of statements before the one that fails", async () => {
  await using db = await start()
  const { a } = db
  await a.batch(
    "CREATE TABLE p(id INTEGER PRIMARY KEY)",
    "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
  )
  expect((await a.batch("SELECT 1", "INSERT INTO t VALUES(1) RETURNING x", "nonsense")).kinds).toEqual(["error"])
  expect((await a.batch("SELECT 1", "INSERT INTO c VALUES(1)")).kinds).toEqual(["error"])
})

test("a full disk ends the transaction with SQLITE_FULL: aborted until a rollback, and all is well with room again", async () => {
  await using db = await start()
  const { storage, a, b } = db
  for (const write of [
    (peer: WirePeer) => peer.exec("INSERT INTO t VALUES(zeroblob(20000000))"),
    (peer: WirePeer) => peer.query("INSERT INTO t VALUES(zeroblob(14000000)) RETURNING 1"),
  ]) {
    await a.begin()
    await a.exec("INSERT INTO t VALUES(1)")
    storage.isFull = true
    expect((await write(a)).error?.code).toBe("SQLITE_FULL")
    storage.isFull = false
    await expectAborted(a, b, "full")
  }
})

test("an empty batch inside a transaction answers Done with the tip of the begin", async () => {
  await using db = await start()
  const { a, b } = db
  await a.begin()
  await a.exec("INSERT INTO t VALUES(1)")
  expect(await a.batch()).toMatchObject({ kinds: ["done"], done: { tip: 1n, totalRows: 0n } })
  expect((await b.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
  expect((await a.commit()).execs[0]?.tip).toBe(2n)
})

test("a peer that takes only the first frame of a batch's answer and pays no credit keeps working", async () => {
  await using db = await start()
  const { a } = db
  for (let i = 0; i < 20; i++) {
    // More ColumnBatches than the window: the rest of the answer stays with the server.
    const statements = [{ sql: "INSERT INTO t VALUES(1)" }, ...Array.from({ length: 8 }, () => ({ sql: "SELECT 1" }))]
    const { id } = a.request({ case: "batch", value: { statements } }, { credits: [] })
    while (a.kinds(id).length === 0) await a.ping()
    expect(a.kinds(id)[0]).toBe("execResult")
    expect((await a.exec("UPDATE t SET x = x + 1")).execs[0]?.rowsAffected).toBe(BigInt(i + 1))
    expect((await a.query("SELECT count(*) FROM t")).rows).toEqual([[BigInt(i + 1)]])
  }
})
