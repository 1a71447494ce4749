import { expect, test } from "@playwright/test"
import { SilenceJudge } from "../../../src/link/watchdog.ts"

const allow = 30_000
const slack = 5_000

test("a worker that was heard within its allowance is fine", () => {
  const judge = new SilenceJudge(0, allow)
  expect(judge.tick(allow + slack)).toBe("fine")
  judge.hear(allow + slack, 600_000)
  expect(judge.tick(600_000 + slack)).toBe("fine")
})

test("a silence that is too long is asked about three times before it is judged", () => {
  const judge = new SilenceJudge(0, allow)
  const verdicts = [1, 2, 3, 4].map((second) => judge.tick(allow + slack + second * 1_000))
  expect(verdicts).toEqual(["ask", "ask", "ask", "dead"])
})

test("a timer that comes an hour late proves nothing while the worker answers", () => {
  const judge = new SilenceJudge(0, allow)
  expect(judge.tick(3_600_000)).toBe("ask")
  expect(judge.tick(3_601_000)).toBe("ask")
  judge.hear(3_601_500, allow)
  expect(judge.tick(3_602_000)).toBe("fine")
  // The questions start from the beginning.
  const verdicts = [0, 1, 2, 3].map((second) => judge.tick(7_200_000 + second * 1_000))
  expect(verdicts).toEqual(["ask", "ask", "ask", "dead"])
})
