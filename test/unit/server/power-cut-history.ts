// Playwright's expect looks through all of a test's steps each time, and there are tens of thousands here.
import assert from "node:assert/strict"
import { macrotask } from "../../../src/link/macrotask.ts"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import type { Created, Management } from "../../../src/server/management.ts"
import { Service } from "../../../src/server/service.ts"
import type { Engine } from "../../../src/sqlite/engine.ts"
import type { OpfsStorage } from "../../../src/storage/opfs.ts"
import { mintToken } from "../../../src/wire/jwt.ts"
import { one, query } from "../../fixtures/engine.ts"
import { PowerCutDisk } from "../../fixtures/power-cut-disk.ts"
import type { Random } from "../../fixtures/random.ts"
import { type Answer, WirePeer } from "../../fixtures/wire-peer.ts"
import { openDump } from "../../fuzz/content.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

const project = "devkey"
const partsOfOne = 3
const hangMs = 60_000
const setup = [
  // Every commit but this one makes one row here, whose id tells its tip.
  "CREATE TABLE commits(id INTEGER PRIMARY KEY, n INTEGER, parts INTEGER)",
  "CREATE TABLE parts(n INTEGER, filler)",
] as const

export type Counts = Record<string, number>

export function addCounts(to: Counts, more: Counts): void {
  for (const [key, count] of Object.entries(more)) to[key] = (to[key] ?? 0) + count
}

/** What is known of a database from outside. */
interface Known {
  readonly id: string
  /** Unix seconds; 0 is never. */
  readonly expiresAt: number
  readonly requestId: string | undefined
  /** Commits that its file had, of a restored one. They count as one. */
  readonly restored: number
  /** By tip: the number that the commit wrote. Acknowledged or seen, so it has to stay. Those of a file end at 1. */
  readonly commits: Map<number, number>
  /** The newest tip that was told. */
  tip: number
  /** A deletion was asked for and not answered. */
  mayBeGone: boolean
}

/** A creation or a restore that was asked for. */
interface Attempt {
  readonly requestId?: string | undefined
  /** Told apart by their regions. */
  readonly region?: string
  /** What a file has: the numbers that its commits wrote, in order. */
  readonly numbers?: readonly number[]
}

/** A service with several databases, through several ends of its process. */
export class History {
  readonly counts: Counts = {}
  readonly #engine: Engine
  readonly #random: Random
  #disk = new PowerCutDisk()
  #storage: OpfsStorage | undefined
  #clock = new HandClock()
  #service: Service | undefined
  readonly #known = new Map<string, Known>()
  readonly #deleted = new Set<string>()
  /** Creations and restores that were never answered. */
  #unanswered: Attempt[] = []
  #next = 1
  /** What is under way, for whoever asks why nothing goes on. */
  readonly #doing = new Set<string>()
  /** Dumps that were handed out. */
  #copies: { file: Blob; commits: number }[] = []

  constructor(engine: Engine, random: Random) {
    this.#engine = engine
    this.#random = random
  }

  /** Returns the number of power cuts. */
  async tell(): Promise<number> {
    let cuts = 0
    for (let chapter = 1 + this.#random.below(4); chapter > 0; chapter--) {
      this.#disk.budget = 1 + this.#random.below(this.#random.pick([30, 150, 600, 1500]))
      await this.#live()
      await this.#verifyCopies()
      const picked = this.#random.pick(["cut", "cut", "cut", "cut", "kill", "close"] as const)
      const end = picked === "close" && this.#disk.isCut ? "cut" : picked
      if (end === "close") this.#disk.budget = Number.POSITIVE_INFINITY
      // What fails to close for want of power is let go all the same.
      await this.#service?.close()
      await this.#storage?.close()
      if (end !== "close") this.#disk = end === "cut" ? this.#disk.cut(this.#random) : this.#disk.kill()
      if (end === "cut") cuts++
      this.#count(end)
      await this.#start()
      await this.#verify()
      this.#unanswered = []
    }
    await this.#service?.close()
    return cuts
  }

  async #start(): Promise<void> {
    this.#storage = undefined
    this.#service = undefined
    this.#clock = new HandClock(this.#clock.now() + this.#random.pick([0, 1_000, 400_000]))
    this.#storage = await this.#disk.mount()
    this.#service = await Service.open({ engine: this.#engine, storage: this.#storage, clock: this.#clock })
  }

  /** Several lanes at once, until the power goes or enough has happened. Nothing of it goes on after. */
  async #live(): Promise<void> {
    const disk = this.#disk
    try {
      if (!this.#service) await this.#start()
    } catch (error) {
      if (!disk.isCut) throw error
      return
    }
    let running = 3
    const lane = async () => {
      try {
        for (let left = 4 + this.#random.below(12); left > 0 && !disk.isCut; left--) await this.#act()
      } catch (error) {
        // Whatever goes wrong without power is the power's fault, but for what the test itself finds.
        if (!disk.isCut || error instanceof assert.AssertionError) throw error
      } finally {
        running--
      }
    }
    const lanes = [lane(), lane(), lane()]
    const over = Promise.all(lanes)
    over.catch(() => {})
    const start = performance.now()
    for (let turn = 1; running > 0 && !disk.isCut; turn++) {
      await new Promise<void>(macrotask)
      // Some waits are for time only.
      if (turn % 300 === 0) await this.#clock.advance(100)
      if (performance.now() - start > hangMs) throw new Error(`nothing goes on: ${[...this.#doing].join("; ")}`)
    }
    // Answers that are on their way may still come.
    for (let turn = 0; turn < 30; turn++) await new Promise<void>(macrotask)
    // Ends the sockets, and with them what waits for an answer.
    if (disk.isCut) await this.#service?.close()
    await over
    this.#doing.clear()
  }

  async #act(): Promise<void> {
    const there = [...this.#known.values()].filter((known) => !known.mayBeGone && !this.#hasExpired(known))
    const known = there.length > 0 ? this.#random.pick(there) : undefined
    const choice = this.#random.below(20)
    const doing = `${this.#next++}: ${choice} on ${known?.id}`
    this.#doing.add(doing)
    await this.#do(choice, known)
    this.#doing.delete(doing)
  }

  #do(choice: number, known: Known | undefined): Promise<void> {
    if (!known || choice < 2) return this.#create()
    if (choice === 2) return this.#createAgain(known)
    if (choice === 3) return this.#delete(known)
    if (choice < 6) return this.#dump(known)
    // Past the rest of an idle database, past its closing, or past some expiries.
    if (choice === 8) return this.#restore()
    if (choice < 8) return this.#clock.advance(this.#random.pick([300, 6_000, 6_000, 200_000]))
    return this.#write(known)
  }

  async #create(): Promise<void> {
    const requestId = this.#random.chance(0.5) ? `key-${this.#next++}` : undefined
    const ttlSeconds = this.#random.pick([0, 0, 100, 500])
    await this.#attempt({ requestId }, () => this.#management.create({ requestId, ttlSeconds }))
    this.#count("created")
  }

  /** A copy that was handed out, as a new database. */
  async #restore(): Promise<void> {
    if (this.#copies.length === 0) return
    const { file } = this.#random.pick(this.#copies)
    const copy = await openDump(this.#engine, file)
    const reader = copy.takeReader()
    const numbers = query(reader, "SELECT n FROM commits ORDER BY id").map(([n]) => Number(n))
    copy.abandon()
    const region = `copy ${this.#next++}`
    await this.#attempt({ region, numbers }, () => this.#management.restore({ file }, { region }))
    this.#count("restored")
  }

  async #attempt(attempt: Attempt, make: () => Promise<Created>): Promise<void> {
    this.#unanswered.push(attempt)
    const { databaseId, expiresAt } = await make()
    this.#unanswered.splice(this.#unanswered.indexOf(attempt), 1)
    assert(!this.#deleted.has(databaseId) && !this.#known.has(databaseId), `${databaseId} was given twice`)
    this.#learn(databaseId, expiresAt, attempt)
  }

  #learn(id: string, expiresAt: number, { requestId, numbers }: Attempt): void {
    const restored = numbers?.length ?? 0
    const commits = new Map(numbers?.map((n, index) => [index + 2 - restored, n]))
    this.#known.set(id, { id, expiresAt, requestId, restored, commits, tip: numbers ? 1 : 0, mayBeGone: false })
  }

  async #createAgain({ id, requestId }: Known): Promise<void> {
    if (requestId === undefined) return
    assert.equal((await this.#management.create({ requestId })).databaseId, id)
  }

  async #delete(known: Known): Promise<void> {
    known.mayBeGone = true
    await this.#management.delete(known.id)
    this.#known.delete(known.id)
    this.#deleted.add(known.id)
    this.#count("deleted")
  }

  async #dump({ id, restored }: Known): Promise<void> {
    let file = new Blob()
    const dumping = this.#management.dump(id, async (blob) => {
      file = blob
      return "test:"
    })
    const { tip } = await dumping.catch((error) => {
      // Another lane deleted it, or it expired.
      if (error.code === "not_found") return { tip: undefined }
      throw error
    })
    if (tip === undefined) return
    if (tip > 0) this.#copies.push({ file, commits: tip - 1 + restored })
    this.#count("dumped")
  }

  async #verifyCopies(): Promise<void> {
    for (const { file, commits } of this.#copies.splice(0)) {
      const copy = await openDump(this.#engine, file)
      assert.equal(one(copy.writer, "PRAGMA integrity_check"), "ok")
      assert.equal(Number(one(copy.writer, "SELECT count(*) FROM commits")), commits)
      copy.abandon()
    }
  }

  /** A few commits on one socket, pipelined, and at times a transaction. */
  async #write(known: Known): Promise<void> {
    const peer = await this.#connect(known.id)
    if (!peer) return
    try {
      // What is sent on a closed socket is never answered.
      if (known.tip === 0 && (await peer.batch(...setup)).kinds.at(-1) === "closed") return
      // A transaction is the socket's own: what is sent meanwhile is a part of it.
      const isTransaction = this.#random.chance(0.2)
      const count = isTransaction ? 1 : 1 + this.#random.below(6)
      const writes = Array.from({ length: count }, () => this.#send(peer, isTransaction))
      for (const { n, tip: told } of writes) {
        const tip = await told
        if (tip === undefined) continue
        assert(!known.commits.has(tip), `tip ${tip} was told twice`)
        known.commits.set(tip, n)
        known.tip = Math.max(known.tip, tip)
        this.#count("commits")
      }
    } finally {
      peer.link.close()
    }
  }

  #send(peer: WirePeer, isTransaction: boolean): { n: number; tip: Promise<number | undefined> } {
    const n = this.#next++
    const size = BigInt(this.#random.pick([10, 3_000, 30_000]))
    if (!isTransaction && this.#random.chance(0.7)) {
      return { n, tip: peer.exec("INSERT INTO commits(n, parts) VALUES (?, 0)", BigInt(n)).then(tipOf) }
    }
    const statements = [
      ...Array<[string, bigint, bigint]>(partsOfOne).fill([
        "INSERT INTO parts VALUES (?, zeroblob(?))",
        BigInt(n),
        size,
      ]),
      ["INSERT INTO commits(n, parts) VALUES (?, ?)", BigInt(n), BigInt(partsOfOne)] as [string, bigint, bigint],
    ]
    return { n, tip: isTransaction ? transact(peer, statements) : peer.batch(...statements).then(tipOf) }
  }

  /** Undefined if the database went meanwhile. */
  async #connect(id: string): Promise<WirePeer | undefined> {
    const [mine, theirs] = createLinkPair()
    const peer = new WirePeer(mine)
    this.#running.accept(theirs)
    const seconds = Math.floor(this.#clock.now() / 1000)
    const { error, kinds } = await peer.hello(mintToken(project, "secret", seconds, 1e6), id)
    if (kinds[0] === "helloOk") return peer
    if (error?.code === "not_found" || this.#disk.isCut) return undefined
    throw new Error(`${error?.code}: ${error?.message}`)
  }

  async #verify(): Promise<void> {
    const listed = await this.#list()
    for (const id of listed) assert(!this.#deleted.has(id), `${id} was deleted`)
    const unknown = listed.filter((id) => !this.#known.has(id))
    assert(unknown.length <= this.#unanswered.length, "databases that nobody asked for")
    for (const known of [...this.#known.values()]) {
      if (listed.includes(known.id)) continue
      assert(known.mayBeGone || this.#hasExpired(known), `${known.id} is gone`)
      this.#known.delete(known.id)
      this.#deleted.add(known.id)
    }
    for (const id of unknown) {
      const { expiresAt, region } = await this.#management.get(id)
      const attempt = this.#unanswered.find((each) => each.region === region)
      this.#count(attempt ? "unanswered restores that stood" : "unanswered creations that stood")
      // Of a creation it may be any of several.
      this.#learn(id, expiresAt, attempt ?? {})
    }
    for (const known of this.#known.values()) {
      if (known.mayBeGone) this.#count("unanswered deletions that had not happened")
      known.mayBeGone = false
      await this.#verifyContent(known)
      await this.#createAgain(known)
    }
    await this.#verifyKeys()
    await this.#verifyPaths()
  }

  async #verifyContent(known: Known): Promise<void> {
    const { tip } = await this.#management.get(known.id)
    const peer = await this.#connect(known.id)
    if (!peer) throw new Error(`${known.id} is listed and cannot be opened`)
    const rowsOf = async (sql: string) => {
      const { rows, error } = await peer.query(sql)
      if (error) throw new Error(`${known.id}: ${error.code}: ${error.message}`)
      return rows
    }
    assert.deepEqual(await rowsOf("PRAGMA integrity_check"), [["ok"]])
    assert(tip >= known.tip, `the tip of ${known.id} was ${known.tip} and is ${tip}`)
    const isSetUp = (await rowsOf("SELECT count(*) FROM sqlite_schema"))[0]?.[0] !== 0n
    if (!isSetUp) assert.equal(tip, 0)
    else {
      const rows = await rowsOf("SELECT id, n FROM commits ORDER BY id")
      assert.equal(tip, 1 + rows.length - known.restored, `the tip of ${known.id}`)
      const stored = new Map(rows.map(([id, n]) => [Number(id) + 1 - known.restored, Number(n)]))
      for (const [at, n] of known.commits) assert.equal(stored.get(at), n, `commit ${at} of ${known.id}`)
      assert.equal(new Set(stored.values()).size, stored.size, "each commit once")
      const torn = `SELECT n FROM commits c WHERE parts <> (SELECT count(*) FROM parts p WHERE p.n = c.n)
        UNION ALL SELECT n FROM parts WHERE n NOT IN (SELECT n FROM commits)`
      assert.deepEqual(await rowsOf(torn), [])
      for (const [at, n] of stored) known.commits.set(at, n)
    }
    known.tip = tip
    peer.link.close()
  }

  /** A creation that was not answered is asked for again with its key: there is one database of it, whichever it is. */
  async #verifyKeys(): Promise<void> {
    for (const attempt of this.#unanswered) {
      const { requestId } = attempt
      if (requestId === undefined) continue
      const before = await this.#list()
      const { databaseId, expiresAt } = await this.#management.create({ requestId })
      const after = await this.#list()
      this.#known.delete(databaseId)
      const isNew = !before.includes(databaseId)
      if (!isNew) this.#count("keys that found their database")
      // A key stands for its database even after that has expired, and is being erased.
      if (isNew && this.#hasExpired({ expiresAt })) {
        this.#deleted.add(databaseId)
        assert.deepEqual(after, before)
        continue
      }
      this.#learn(databaseId, expiresAt, attempt)
      assert.equal(after.length, before.length + (isNew ? 1 : 0))
    }
  }

  /** The background sweep ends by itself. */
  async #verifyPaths(): Promise<void> {
    const seconds = Math.floor(this.#clock.now() / 1000)
    const ids = [...this.#known.keys()]
    const own = ids.flatMap((id) =>
      ["data.sqlite", "data.sqlite-wal", "meta"].map((file) => `/agentdb/devkey/${id}/${file}`),
    )
    const isExpected = (path: string) => {
      if (path === "/agentdb/format" || path.startsWith("/agentdb/.scratch/") || path === "/agentdb/devkey/")
        return true
      const [, id = "", expiry = "0"] = /^\/agentdb\/devkey\/(DB_\w+)\/dump-dump-(\d+)-/.exec(path) ?? []
      return own.includes(path) || (this.#known.has(id) && Number(expiry) > seconds)
    }
    let wrong: string[] = []
    for (let turn = 0; turn < 200; turn++) {
      const paths = this.#disk.paths()
      wrong = [
        ...paths.filter((path) => !isExpected(path)).map((path) => `left behind: ${path}`),
        ...own.filter((path) => !paths.includes(path)).map((path) => `missing: ${path}`),
      ]
      if (wrong.length === 0) return
      // What is due by now: expiries.
      await this.#clock.advance(0)
      await new Promise<void>(macrotask)
    }
    assert.deepEqual(wrong, [])
  }

  async #list(): Promise<string[]> {
    const { databases } = await this.#management.list({ pageSize: 1000 })
    return databases.map(({ databaseId }) => databaseId)
  }

  #hasExpired({ expiresAt }: Pick<Known, "expiresAt">): boolean {
    return expiresAt > 0 && expiresAt <= Math.floor(this.#clock.now() / 1000)
  }

  get #running(): Service {
    if (!this.#service) throw new Error("the service does not run")
    return this.#service
  }

  get #management(): Management {
    return this.#running.management(project)
  }

  #count(what: string): void {
    addCounts(this.counts, { [what]: 1 })
  }
}

/** The tip that the end of an answer tells; of a batch only its end tells that it stands. */
function tipOf({ kinds, execs, done }: Answer): number | undefined {
  const last = kinds.at(-1) === "done" ? done : kinds.at(-1) === "execResult" ? execs.at(-1) : undefined
  return last && Number(last.tip)
}

/** Undefined unless all of it was acknowledged. */
function transact(peer: WirePeer, statements: [string, bigint, bigint][]): Promise<number | undefined> {
  // What is sent on a closed socket is never answered.
  return Promise.race([runTransaction(peer, statements), peer.closed.then(() => undefined)])
}

async function runTransaction(peer: WirePeer, statements: [string, bigint, bigint][]): Promise<number | undefined> {
  if (tipOf(await peer.begin()) === undefined) return undefined
  for (const statement of statements) {
    if (tipOf(await peer.exec(...statement)) !== undefined) continue
    await peer.rollback()
    return undefined
  }
  return tipOf(await peer.commit())
}
