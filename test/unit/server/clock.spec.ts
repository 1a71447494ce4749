import { expect, test } from "@playwright/test"
import { afterQuiet, type Clock, systemClock } from "../../../src/server/clock.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

const day = 86_400_000

test("a wait of months is taken in steps of an hour at most, and ends once", () => {
  const real = globalThis.setTimeout
  const steps: number[] = []
  const tasks: (() => void)[] = []
  let fired = 0
  const record = (task: () => void, ms: number) => {
    steps.push(ms)
    tasks.push(task)
    return 0
  }
  globalThis.setTimeout = record as unknown as typeof setTimeout
  try {
    systemClock.after(90 * day, () => fired++)
    for (let task = tasks.shift(); task; task = tasks.shift()) {
      expect(fired).toBe(0)
      task()
    }
  } finally {
    globalThis.setTimeout = real
  }
  expect(fired).toBe(1)
  expect(Math.max(...steps)).toBeLessThanOrEqual(3_600_000)
  expect(steps.reduce((sum, step) => sum + step, 0)).toBe(90 * day)
})

test("a timer that is taken back never fires, whichever of its steps it is at", async () => {
  let fired = 0
  systemClock.after(20, () => fired++)()
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(fired).toBe(0)
})

test("quiet time starts anew while timers come late", async () => {
  const hand = new HandClock()
  let late = 0
  const clock: Clock = {
    now: () => hand.now() + late,
    after: (ms, task) => hand.after(ms, task),
  }
  let fired = 0
  afterQuiet(clock, 100, () => fired++)
  late = 5_000
  await hand.advance(100)
  expect(fired).toBe(0)
  await hand.advance(100)
  expect(fired).toBe(1)
  const disarm = afterQuiet(clock, 100, () => fired++)
  late = 10_000
  await hand.advance(100)
  disarm()
  await hand.advance(1_000)
  expect(fired).toBe(1)
})
