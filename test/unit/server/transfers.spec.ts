import { expect, test } from "@playwright/test"
import { TestService } from "../../fixtures/service.ts"
import type { WirePeer } from "../../fixtures/wire-peer.ts"

const accounts = 10
const initial = 1000
const sockets = 8
/** Transactions a socket; the full form runs 200. */
const rounds = Number(process.env["AGENTDB_TRANSFERS"] ?? 20)

/** A small generator of our own kind of luck, so that a failure can be run again. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

test("transfers by 8 sockets, some rolled back, some cut: the sum never changes and the end is the acknowledged history", async () => {
  test.setTimeout(600_000)
  await using at = await TestService.start({ firstBatchBytes: 1, batchBytes: 1, writeWaitMs: 60_000 })
  const setup = await at.connect()
  await setup.exec("CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
  for (let i = 0; i < accounts; i++) await setup.exec(`INSERT INTO account VALUES(${i}, ${initial})`)
  await setup.exec("CREATE TABLE history(entry TEXT PRIMARY KEY, origin, target, amount)")

  const seed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000)
  const balances = new Array<number>(accounts).fill(initial)
  /** Cut in the commit: there or not, but whole. */
  const unknown: string[] = []
  const acknowledged: string[] = []

  const transfer = async (peer: WirePeer, entry: string, luck: () => number): Promise<"open" | "cut"> => {
    const [from, to] = [Math.floor(luck() * accounts), Math.floor(luck() * accounts)]
    const amount = Math.floor(luck() * 50)
    const fate = luck()
    expect((await peer.begin()).error).toBeUndefined()
    await peer.exec("UPDATE account SET balance = balance - ? WHERE id = ?", BigInt(amount), BigInt(from))
    if (fate < 0.1) {
      peer.link.close()
      return "cut"
    }
    await peer.batch(
      ["UPDATE account SET balance = balance + ? WHERE id = ?", BigInt(amount), BigInt(to)],
      ["INSERT INTO history VALUES(?, ?, ?, ?)", entry, BigInt(from), BigInt(to), BigInt(amount)],
    )
    if (fate < 0.3) {
      expect((await peer.rollback()).error).toBeUndefined()
      return "open"
    }
    if (fate < 0.4) {
      void peer.commit()
      peer.link.close()
      unknown.push(entry)
      return "cut"
    }
    expect((await peer.commit()).error).toBeUndefined()
    acknowledged.push(entry)
    balances[from] = (balances[from] as number) - amount
    balances[to] = (balances[to] as number) + amount
    return "open"
  }

  let working = true
  const reader = async () => {
    const peer = await at.connect()
    let sums = 0
    while (working) {
      const { rows } = await peer.query("SELECT balance FROM account")
      expect(
        rows.reduce((sum, [balance]) => sum + Number(balance), 0),
        `seed ${seed}`,
      ).toBe(accounts * initial)
      sums++
    }
    return sums
  }
  const readers = [reader(), reader()]
  await Promise.all(
    Array.from({ length: sockets }, async (_, socket) => {
      const luck = random(seed + socket)
      let peer = await at.connect()
      for (let round = 0; round < rounds; round++) {
        if ((await transfer(peer, `${socket}-${round}`, luck)) === "cut") peer = await at.connect()
      }
    }),
  )
  working = false
  for (const sums of await Promise.all(readers)) expect(sums).toBeGreaterThan(0)

  const history = new Map(
    (await setup.query("SELECT entry, origin, target, amount FROM history")).rows.map((row) => [row[0], row]),
  )
  for (const entry of acknowledged) expect(history.has(entry), `${entry}, seed ${seed}`).toBe(true)
  for (const entry of unknown) {
    const row = history.get(entry)
    if (!row) continue
    const [from, to, amount] = row.slice(1).map(Number) as [number, number, number]
    balances[from] = (balances[from] as number) - amount
    balances[to] = (balances[to] as number) + amount
  }
  expect(history.size).toBeLessThanOrEqual(acknowledged.length + unknown.length)
  const final = (await setup.query("SELECT balance FROM account ORDER BY id")).rows.map(([balance]) => Number(balance))
  expect(final, `seed ${seed}`).toEqual(balances)
})
