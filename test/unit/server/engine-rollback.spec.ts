import { expect, test } from "@playwright/test"
import { systemClock } from "../../../src/server/clock.ts"
import { OpenDatabase } from "../../../src/server/open-database.ts"
import { RunQueue } from "../../../src/server/run-queue.ts"
import { Transaction } from "../../../src/server/transaction.ts"
import { Database } from "../../../src/sqlite/database.ts"
import { loadEngine } from "../../../src/sqlite/load.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { resolveLimits } from "../../../src/wire/limits.ts"
import { wasmBytes } from "../../fixtures/service.ts"

test("a transaction that the engine ended unseen, as a failing read can, is aborted and never autocommit", async () => {
  const storage = new MemoryStorage()
  const engine = await loadEngine({ wasm: wasmBytes(), storage })
  const files = await storage.create("devkey", "DB_222222222222")
  const attributes = { region: "local", createdAt: 1, expiresAt: 0, order: 1 }
  const database = Database.create(engine, files, attributes)
  const limits = resolveLimits()
  const open = new OpenDatabase(database, limits, systemClock, new RunQueue(), {
    tip() {},
    failed() {},
    used() {},
    reopen: () => Promise.reject(new Error("nobody lets it go")),
  })
  const transaction = new Transaction(open, limits, systemClock)
  expect(open.turn.tryTake()).toBe(true)
  transaction.begin()
  expect(transaction.enter()).toBe(true)
  database.writer.run("ROLLBACK")
  expect(() => transaction.enter()).toThrow(expect.objectContaining({ code: "aborted" }))
  expect(open.turn.free).toBe(true)
  transaction.rollback(() => {})
  expect(transaction.enter()).toBe(false)
  open.close()
  await storage.close()
})
