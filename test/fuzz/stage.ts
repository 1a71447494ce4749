import { macrotask } from "../../src/link/macrotask.ts"
import type { Engine } from "../../src/sqlite/engine.ts"
import type { Storage } from "../../src/storage/storage.ts"
import { WirePeer } from "../fixtures/wire-peer.ts"
import { readDump, readState } from "./content.ts"
import { FuzzService } from "./fuzz-service.ts"
import { type Copy, type Ending, explain } from "./history.ts"
import { State } from "./model.ts"
import { setupSql } from "./ops.ts"
import { type Knowledge, Player } from "./player.ts"
import { type Action, type Program, sockets } from "./program.ts"
import { describe, isStream } from "./request-record.ts"
import { Finding, within } from "./runs.ts"
import { Mismatch } from "./verify.ts"
import { walk } from "./walk.ts"

const times = { writeWaitMs: 4_000, txIdleMs: 10_000, txTotalMs: 30_000 }

/** Plays a program against a service and its storage, and then looks for a history that explains what it saw. */
export class Stage {
  readonly #engine: Engine
  readonly #storage: Storage
  readonly #program: Program
  #service: FuzzService
  #databaseId = ""
  #knowledge: Knowledge = { tip: 0, frames: 0 }
  /** All sockets that the database had, those that are open in their places. */
  #players: Player[] = []
  #places: (Player | undefined)[] = Array.from({ length: sockets })
  /** The tip and content from which the history goes on. */
  #base: Copy = { tip: setupSql.length, state: new State() }
  #copies: Copy[] = []
  #dumps: Promise<{ tip: number; file: Blob }>[] = []

  private constructor(engine: Engine, storage: Storage, program: Program, service: FuzzService) {
    this.#engine = engine
    this.#storage = storage
    this.#program = program
    this.#service = service
  }

  static async start(engine: Engine, storage: Storage, program: Program): Promise<Stage> {
    const stage = new Stage(engine, storage, program, await startService(engine, storage, program))
    await stage.#create()
    return stage
  }

  /** Finds a database that was there before; `goOnFrom` tells with what. */
  static async resume(engine: Engine, storage: Storage, program: Program, databaseId: string): Promise<Stage> {
    const stage = new Stage(engine, storage, program, await startService(engine, storage, program))
    stage.#databaseId = databaseId
    return stage
  }

  /** The history to be explained begins here. */
  goOnFrom(base: Copy): void {
    this.#base = base
    this.#knowledge.tip = base.tip
  }

  get databaseId(): string {
    return this.#databaseId
  }

  /** @param isCut whether the storage has failed, so that calls may as well. */
  async play(actions: readonly Action[], isCut: () => boolean = () => false): Promise<void> {
    try {
      for (const action of actions) {
        if (isCut()) return
        await this.#act(action)
      }
      await this.settle()
    } catch (error) {
      if (error instanceof Finding || !isCut()) throw error
    }
  }

  /** Ends every request, closes every socket, and returns what is there, after a restart too. */
  async finish(): Promise<Ending> {
    await this.#drain()
    for (const player of this.#places) player?.close()
    this.#service.checkMonitors()
    const ending = await this.look()
    this.#explain(ending, undefined)
    await this.#service.service.close()
    this.#service = await startService(this.#engine, this.#storage, this.#program)
    const again = await this.look()
    if (again.tip !== ending.tip || again.state?.text !== ending.state?.text) {
      throw new Mismatch(
        `after a restart ${again.tip} ${again.state?.text}, before ${ending.tip} ${ending.state?.text}`,
      )
    }
    await this.#service.service.close()
    return ending
  }

  /** The storage failed: what the clients had been told has to hold for what was found after. */
  lost(ending: Ending): void {
    this.#service.checkMonitors()
    this.#explain(ending, /^SQLITE_IOERR/)
  }

  async close(): Promise<void> {
    for (const player of this.#places) player?.close()
    await within("the close of the service", this.#service.service.close())
  }

  /** What a new socket finds. */
  async look(): Promise<Ending> {
    const peer = new WirePeer(this.#service.socket().link)
    const { error } = await within("a Hello", peer.hello(this.#service.token(), this.#databaseId))
    if (error) throw new Error(`${error.code}: ${error.message}`)
    let tip = 0n
    const state = await readState(async (sql) => {
      const answer = await within(sql, peer.query(sql))
      if (answer.error) throw new Error(`${sql}: ${answer.error.code}: ${answer.error.message}`)
      tip = answer.done?.tip as bigint
      return answer.rows
    })
    peer.link.close()
    return { tip: Number(tip), state }
  }

  /** Waits until nothing moves any more, and looks at who stands still. */
  async settle(): Promise<void> {
    let quiet = 0
    while (quiet < 4) {
      const { frames } = this.#knowledge
      await within("a Pong", Promise.all(this.#open.map((player) => player.ping())))
      for (let turn = 0; turn < 4; turn++) await new Promise<void>(macrotask)
      quiet = this.#knowledge.frames === frames ? quiet + 1 : 0
    }
    await this.#readDumps()
    this.#service.checkMonitors()
    for (const record of this.#open.flatMap((player) => player.live)) {
      if (record.wasCanceled) throw new Mismatch(`${describe(record)} was cancelled and is still live`)
      const isStarted = record.parts.length > 0
      if (isStarted && isStream(record) && record.batches < record.credit) {
        throw new Mismatch(
          `${describe(record)} stands still after ${record.batches} batches with credit for ${record.credit}`,
        )
      }
    }
  }

  get #open(): Player[] {
    return this.#places.filter((player) => player?.isOpen) as Player[]
  }

  #place(index: number): Player {
    const there = this.#places[index]
    if (there?.isOpen) return there
    const player = new Player(this.#service, this.#databaseId, this.#knowledge, this.#program.rings && index !== 0)
    this.#places[index] = player
    this.#players.push(player)
    return player
  }

  async #act(action: Action): Promise<void> {
    switch (action.do) {
      case "request":
        this.#place(action.socket).request(action.work)
        return
      case "credit":
      case "cancel": {
        const player = this.#place(action.socket)
        // Whether a Cancel met a commit whose answer never comes, nobody could tell.
        const live = player.live.filter(({ work }) => action.do === "credit" || !/commit|rollback/.test(work.kind))
        const id = live[action.which % Math.max(1, live.length)]?.id ?? 500 + action.which
        if (action.do === "cancel") player.cancel(id)
        else player.credit(id, action.batches)
        return
      }
      case "close":
        this.#places[action.socket]?.close()
        return
      case "settle":
        await this.settle()
        this.#knowledge.tip = Math.max(this.#knowledge.tip, await this.#toldTip())
        return
      case "advance":
        await this.settle()
        await this.#service.clock.advance(action.ms)
        return
      case "dump":
        this.#dump()
        return
      case "delete":
        await this.#delete()
        return
      case "restart":
        await this.#restart()
    }
  }

  async #toldTip(): Promise<number> {
    return (await this.#service.management.get(this.#databaseId)).tip
  }

  /** Starts a dump, which goes on beside what follows. */
  #dump(): void {
    let file = new Blob()
    const publish = async (blob: Blob) => {
      file = blob
      return "test:"
    }
    const dump = this.#service.management.dump(this.#databaseId, publish).then(({ tip }) => ({ tip, file }))
    // Whoever reads it meets its failure.
    dump.catch(() => {})
    this.#dumps.push(dump)
  }

  async #readDumps(): Promise<void> {
    for (const dump of this.#dumps.splice(0)) {
      const { tip, file } = await within("a dump", dump)
      this.#copies.push({ tip, state: await readDump(this.#engine, file) })
    }
  }

  async #create(): Promise<void> {
    const { databaseId } = await this.#service.management.create()
    this.#databaseId = databaseId
    this.#knowledge = { tip: setupSql.length, frames: 0 }
    this.#players = []
    this.#places = []
    this.#copies = []
    this.#base = { tip: setupSql.length, state: new State() }
    const peer = new WirePeer(this.#service.socket().link)
    await within("a Hello", peer.hello(this.#service.token(), databaseId))
    for (const sql of setupSql) await within(sql, peer.exec(sql))
    peer.link.close()
  }

  /** Deletes the database under its clients and makes another. */
  async #delete(): Promise<void> {
    await this.#readDumps()
    const open = this.#open
    await within("a deletion", this.#service.management.delete(this.#databaseId))
    await within("closes", Promise.all(open.map((player) => player.closed)))
    for (const { closeCode, helloTip, watched } of open) {
      if (closeCode !== 1008) throw new Mismatch(`a socket of a deleted database closed with ${closeCode}`)
      const [left] = watched.monitor.live
      if (helloTip !== undefined && left !== undefined)
        throw new Mismatch(`request ${left} of a deleted database got no last frame`)
    }
    this.#explain({ tip: this.#knowledge.tip, state: undefined }, /^not_found$/)
    await this.#create()
  }

  /** Closes the service in the middle and opens it again. */
  async #restart(): Promise<void> {
    await this.#readDumps()
    const open = this.#open
    await within("the close of the service", this.#service.service.close())
    await within("closes", Promise.all(open.map((player) => player.closed)))
    for (const { closeCode } of open) if (closeCode !== 1001) throw new Mismatch(`a restart closed with ${closeCode}`)
    this.#service.checkMonitors()
    this.#service = await startService(this.#engine, this.#storage, this.#program)
    this.#knowledge.tip = Math.max(this.#knowledge.tip, await this.#toldTip())
  }

  /** Gives credit and ends transactions until every request has its last frame. */
  async #drain(): Promise<void> {
    for (let round = 0; round < sockets + 4; round++) {
      for (const player of this.#open) {
        for (const record of player.live) if (isStream(record)) player.credit(record.id, 10_000)
      }
      await this.settle()
      const waiting = this.#open.filter((player) => player.live.length > 0)
      if (waiting.length === 0 && round > 0) return
      for (const player of this.#open) if (player.live.every(isStream)) player.request({ kind: "rollback" })
      await this.settle()
    }
    const [left] = this.#open.flatMap((player) => player.live)
    if (left) throw new Mismatch(`${describe(left)} never ended`)
  }

  #explain(ending: Ending, gone: RegExp | undefined): void {
    for (const { helloTip } of this.#players) {
      if (helloTip !== undefined && helloTip > ending.tip)
        throw new Mismatch(`a HelloOk told tip ${helloTip} of ${ending.tip}`)
    }
    const sockets = this.#players.map(({ steps, helloTip }) => walk(steps, helloTip ?? 0, { ...times, gone }))
    explain(sockets, this.#base.tip, this.#base.state, ending, this.#copies)
  }
}

function startService(engine: Engine, storage: Storage, program: Program): Promise<FuzzService> {
  return FuzzService.start(engine, storage, {
    ...times,
    initialCredit: program.initialCredit,
    firstBatchBytes: program.batchBytes,
    batchBytes: program.batchBytes,
    pingTimeoutMs: 1e9,
  })
}
