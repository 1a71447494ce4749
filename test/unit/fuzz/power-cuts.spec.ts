import { test } from "@playwright/test"
import fc from "fast-check"
import type { Engine } from "../../../src/sqlite/engine.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { startEngine } from "../../fixtures/engine.ts"
import { PowerCutDisk } from "../../fixtures/power-cut-disk.ts"
import { Random } from "../../fixtures/random.ts"
import { State } from "../../fuzz/model.ts"
import { clientProgram } from "../../fuzz/program.ts"
import { check, timeFor } from "../../fuzz/runs.ts"
import { Stage } from "../../fuzz/stage.ts"
import { Uncaught } from "../../fuzz/uncaught.ts"

const runs = 60
const runsPerEngine = 30

/** Programs one after another on one database, each ended by a cut: after so many operations of the disk, or at its end. */
const story = fc.record({
  seed: fc.nat(),
  chapters: fc.array(
    fc.record({
      program: clientProgram,
      operations: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 400 })),
      end: fc.constantFrom("cut" as const, "cut" as const, "kill" as const),
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

test("the power goes in the middle of programs: what any client was told is there, and nothing that nobody asked for", async () => {
  test.setTimeout(timeFor(runs, 800))
  using uncaught = new Uncaught()
  let engine: Engine | undefined
  let told = 0
  await check(runs, story, async ({ seed, chapters }) => {
    if (told++ % runsPerEngine === 0) engine = undefined
    engine ??= await startEngine(new MemoryStorage())
    const random = new Random(seed)
    try {
      let disk = new PowerCutDisk()
      let stage: Stage | undefined
      for (const { program, operations, end } of chapters) {
        stage ??= await Stage.start(engine, await disk.mount(), program)
        disk.budget = operations
        await stage.play(program.actions, () => disk.isCut)
        const next: PowerCutDisk = end === "cut" ? disk.cut(random) : disk.kill()
        await stage.close()
        const after: Stage = await Stage.resume(engine, await next.mount(), program, stage.databaseId)
        const ending = await after.look()
        stage.lost(ending)
        after.goOnFrom({ tip: ending.tip, state: ending.state ?? new State() })
        stage = after
        disk = next
      }
      await stage?.finish()
      uncaught.check()
    } catch (error) {
      engine = undefined
      throw error
    }
  })
})
