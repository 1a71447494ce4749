import { test } from "@playwright/test"
import type { Engine } from "../../../src/sqlite/engine.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { startEngine } from "../../fixtures/engine.ts"
import { Random } from "../../fixtures/random.ts"
import { addCounts, type Counts, History } from "./power-cut-history.ts"

const cuts = Number(process.env["AGENTDB_POWER_CUTS"] ?? 15)
const firstSeed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000)
const storiesPerEngine = 20

test(`after each of ${cuts} power cuts of a whole service: commits, tips, creations, restores and deletions that were acknowledged hold, and nothing is left behind`, async () => {
  test.setTimeout(60_000 + cuts * 2_000)
  const totals: Counts = {}
  let engine: Engine | undefined
  let done = 0
  for (let seed = firstSeed; done < cuts; seed++) {
    if ((seed - firstSeed) % storiesPerEngine === 0) engine = undefined
    engine ??= await startEngine(new MemoryStorage())
    const history = new History(engine, new Random(seed))
    try {
      done += await history.tell()
    } catch (error) {
      throw new Error(`with AGENTDB_SEED=${seed}: ${error instanceof Error ? error.stack : error}`, { cause: error })
    }
    addCounts(totals, history.counts)
  }
  console.log(`power cuts of a service: ${JSON.stringify(totals)}`)
})
