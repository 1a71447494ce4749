import { test } from "@playwright/test"
import type { Engine } from "../../../src/sqlite/engine.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { startEngine } from "../../fixtures/engine.ts"
import { anyProgram } from "../../fuzz/program.ts"
import { check, timeFor } from "../../fuzz/runs.ts"
import { Stage } from "../../fuzz/stage.ts"
import { Uncaught } from "../../fuzz/uncaught.ts"

const runs = 120
const runsPerEngine = 40

test("programs of several sockets: every answer, tip and dump is explained by one history, and so is the end", async () => {
  test.setTimeout(timeFor(runs, 400))
  using uncaught = new Uncaught()
  let engine: Engine | undefined
  let played = 0
  await check(runs, anyProgram, async (program) => {
    if (played++ % runsPerEngine === 0) engine = undefined
    engine ??= await startEngine(new MemoryStorage())
    try {
      const stage = await Stage.start(engine, new MemoryStorage(), program)
      await stage.play(program.actions)
      await stage.finish()
      uncaught.check()
    } catch (error) {
      engine = undefined
      throw error
    }
  })
})
