import { expect, test } from "@playwright/test"
import { defaultLimits, resolveLimits } from "../../../src/wire/limits.ts"

test("the defaults are those of the protocol, and of open files", () => {
  expect(defaultLimits).toEqual({
    maxFrameBytes: 16_777_216,
    batchBytes: 262_144,
    firstBatchBytes: 16_384,
    initialCredit: 4,
    captureBytes: 67_108_864,
    queueBytes: 67_108_864,
    queueFrames: 1_024,
    openStreams: 64,
    statementMs: 30_000,
    maintenanceMs: 600_000,
    writeWaitMs: 4_000,
    txIdleMs: 30_000,
    txTotalMs: 300_000,
    pingIntervalMs: 5_000,
    pingTimeoutMs: 150_000,
    walBytes: 67_108_864,
    ttlCapSeconds: 315_360_000,
    dumpUrlSeconds: 900,
    databases: 10_000,
    databaseIdleMs: 30_000,
    openDatabases: 32,
  })
})

test("each can be set, and what is no limit or no positive whole number is refused", () => {
  for (const name of Object.keys(defaultLimits)) {
    expect(resolveLimits({ [name]: 7 })).toEqual({ ...defaultLimits, [name]: 7 })
    for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => resolveLimits({ [name]: value })).toThrow(
        expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(name) }),
      )
    }
  }
  expect(() => resolveLimits({ nope: 1 } as object)).toThrow(expect.objectContaining({ code: "invalid_argument" }))
  expect(resolveLimits({ batchBytes: undefined } as object)).toEqual(defaultLimits)
})
