// In long loops: each of Playwright's expects looks through all of a test's steps.
import assert from "node:assert/strict"
import { test } from "@playwright/test"
import type { Connection } from "../../../src/sqlite/connection.ts"
import { Database } from "../../../src/sqlite/database.ts"
import type { Engine } from "../../../src/sqlite/engine.ts"
import type { PreparedStatement } from "../../../src/sqlite/statement.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import type { OpfsStorage } from "../../../src/storage/opfs.ts"
import {
  attributes,
  codeOf,
  databaseId,
  execute,
  one,
  project,
  query,
  startEngine,
  unlimited,
} from "../../fixtures/engine.ts"
import { PowerCutDisk } from "../../fixtures/power-cut-disk.ts"
import { Random } from "../../fixtures/random.ts"

const cuts = Number(process.env["AGENTDB_POWER_CUTS"] ?? 30)
const firstSeed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000)
const cutsPerEngine = 50

test(`after each of ${cuts} power cuts every acknowledged commit is there and the tip is exact`, async () => {
  test.setTimeout(60_000 + cuts * 2_000)
  let engine = await startEngine(new MemoryStorage())
  let done = 0
  for (let seed = firstSeed; done < cuts; seed++) {
    if (done % cutsPerEngine === 0) engine = await startEngine(new MemoryStorage())
    await test.step(`seed ${seed}`, async () => {
      try {
        done += await new Story(engine, new Random(seed)).tell()
      } catch (error) {
        throw new Error(`with AGENTDB_SEED=${seed}: ${error instanceof Error ? error.stack : error}`, { cause: error })
      }
    })
  }
})

/** What a database shows of itself: enough to tell any commit of the stories from the one before. */
function stateOf(connection: Connection): string {
  return JSON.stringify([
    query(connection, "SELECT count(*), sum(n), sum(length(x)) FROM t"),
    query(connection, "SELECT group_concat(name) FROM sqlite_schema"),
    one(connection, "PRAGMA user_version"),
    one(connection, "PRAGMA page_count"),
    one(connection, "PRAGMA freelist_count"),
  ])
}

/** One database through several power cuts. */
class Story {
  readonly #engine: Engine
  readonly #random: Random
  #disk = new PowerCutDisk()
  #database: Database | undefined
  #held: { reader: Connection; statement: PreparedStatement } | undefined
  /** By tip. Undefined below the first that could be looked at. */
  #states: (string | undefined)[] = [undefined]
  #acknowledged = 0
  #isCreated = false
  #next = 1

  constructor(engine: Engine, random: Random) {
    this.#engine = engine
    this.#random = random
  }

  /** Returns the number of power cuts. */
  async tell(): Promise<number> {
    const count = 1 + this.#random.below(5)
    for (let i = 0; i < count; i++) {
      this.#disk.budget = 1 + this.#random.below(this.#random.pick([8, 60, 300, 1500]))
      await this.#live()
      this.#database?.abandon()
      this.#database = undefined
      this.#disk = this.#random.chance(0.9) ? this.#disk.cut(this.#random) : this.#disk.kill()
      await this.#verify()
    }
    return count
  }

  async #live(): Promise<void> {
    try {
      const storage = await this.#disk.mount()
      await this.#start(storage)
      while (!this.#disk.isCut) await this.#act(storage)
    } catch (error) {
      // Whatever goes wrong without power is the power's fault.
      if (!this.#disk.isCut) throw error
    }
    this.#held = undefined
  }

  async #start(storage: OpfsStorage): Promise<void> {
    if (this.#isCreated) {
      this.#database = Database.open(this.#engine, await storage.open(project, databaseId))
      assert.equal(this.#database.tip, this.#acknowledged)
      return
    }
    await storage.remove(project, databaseId)
    this.#database = Database.create(this.#engine, await storage.create(project, databaseId), attributes)
    this.#isCreated = true
    this.#write("CREATE TABLE t(n INTEGER PRIMARY KEY, x)")
  }

  async #act(storage: OpfsStorage): Promise<void> {
    const database = this.#open
    const { writer } = database
    const n = this.#next++
    switch (this.#random.below(20)) {
      case 0:
        return this.#reopen(storage)
      case 1:
        this.#letGo()
        database.checkpoint()
        return
      case 2:
        database.checkpoint()
        return
      case 3:
        return this.#hold()
      case 4:
        return this.#letGo()
      case 5:
        return this.#write(`CREATE TABLE other_${n}(x)`)
      case 6:
        return this.#write("DELETE FROM t WHERE n % 7 = 3")
      case 7:
        return this.#write("VACUUM")
      case 8:
        return this.#write(`PRAGMA user_version = ${n % 3}`)
      case 9:
        writer.run("BEGIN IMMEDIATE")
        execute(writer, "INSERT INTO t VALUES (?1, zeroblob(9000))", [n], "transaction")
        writer.run("ROLLBACK")
        return this.#note()
      case 10:
        return this.#write("UPDATE t SET x = 1 WHERE 0")
      case 11: {
        writer.run("BEGIN IMMEDIATE")
        // Sometimes more than the page cache holds, so that pages reach the WAL before the commit.
        const rows = this.#random.pick([3, 30, 30, 700])
        for (let i = 0; i < rows; i++) {
          execute(writer, "INSERT INTO t VALUES (?1, randomblob(8000))", [this.#next++], "transaction")
        }
        writer.run("COMMIT")
        return this.#note()
      }
      case 12:
      case 13:
      case 14:
        database.flush()
        this.#acknowledged = database.tip
        return
      default:
        return this.#write("INSERT INTO t VALUES (?1, zeroblob(?2))", [n, this.#random.below(6000)])
    }
  }

  get #open(): Database {
    if (!this.#database) throw new Error("no database")
    return this.#database
  }

  #write(sql: string, params: unknown[] = []): void {
    // VACUUM and DROP want no statement half read on their own connection only, so a held reader may stay.
    execute(this.#open.writer, sql, params)
    this.#note()
  }

  #note(): void {
    const database = this.#open
    database.noteCommit()
    this.#states[database.tip] = stateOf(database.writer)
    assert.equal(database.tip - this.#states.length + 1, 0)
  }

  async #reopen(storage: OpfsStorage): Promise<void> {
    this.#letGo()
    const { tip } = this.#open
    this.#open.close()
    this.#acknowledged = tip
    this.#database = undefined
    this.#database = Database.open(this.#engine, await storage.open(project, databaseId))
    assert.equal(this.#open.tip, tip)
  }

  #hold(): void {
    if (this.#held) return
    const reader = this.#open.takeReader()
    const statement = reader.prepare("SELECT * FROM t", "autocommit")
    statement.step(unlimited())
    this.#held = { reader, statement }
  }

  #letGo(): void {
    this.#held?.statement.finalize()
    if (this.#held) this.#open.giveReader(this.#held.reader)
    this.#held = undefined
  }

  async #verify(): Promise<void> {
    const storage = await this.#disk.mount()
    const files = await storage.open(project, databaseId).catch(() => undefined)
    if (!this.#isCreated) {
      // A creation that was never answered leaves nothing, or a database without commits.
      const code = files && codeOf(() => Database.open(this.#engine, files).abandon())
      assert([undefined, "not_found"].includes(code), code)
      return
    }
    if (!files) throw new Error("the database is gone")
    const database = Database.open(this.#engine, files)
    assert.equal(one(database.writer, "PRAGMA integrity_check"), "ok")
    assert(
      database.tip >= this.#acknowledged,
      `${this.#acknowledged} commits were acknowledged, ${database.tip} are there`,
    )
    assert(database.tip <= this.#states.length, `the tip is ${database.tip}`)
    const hasTable = database.tip > 0
    // A commit whose answer was lost may be there without anyone having looked at it.
    const expected = this.#states[database.tip]
    if (expected !== undefined) assert.equal(stateOf(database.writer), expected)
    else if (hasTable) this.#states[database.tip] = stateOf(database.writer)
    if (!hasTable) execute(database.writer, "CREATE TABLE t(n INTEGER PRIMARY KEY, x)")
    database.flush()
    this.#acknowledged = database.tip
    this.#states = this.#states.slice(0, database.tip)
    this.#states[database.tip] = stateOf(database.writer)
    // Cleanly or not: the next start must find the same.
    if (this.#random.chance(0.5)) database.close()
    else database.abandon()
  }
}
