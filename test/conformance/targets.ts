import { mintToken } from "agentdb-web"
import type { ConformanceOptions, Limits } from "agentdb-web/conformance"

/** Two projects. */
export const keys = { devkey: "secret", otherkey: "other secret" }

/** Small, so that every limit can be reached in a moment, and yet none is in the way of what is no matter of limits. */
export const smallLimits: Partial<Limits> = {
  maxFrameBytes: 3_000_000,
  batchBytes: 40_000,
  firstBatchBytes: 4_000,
  captureBytes: 4_000_000,
  queueBytes: 4_000_000,
  queueFrames: 100,
  openStreams: 8,
  statementMs: 1_500,
  writeWaitMs: 2_500,
  txIdleMs: 3_500,
  txTotalMs: 4_500,
  pingTimeoutMs: 5_000,
}

const tokenFor = (apiKey: keyof typeof keys) => () => mintToken(apiKey, keys[apiKey], Math.floor(Date.now() / 1000))

/** `npm run conformance` runs the rules that wait for a limit of time over every transport; else one of them does. */
export const patience = (isWhole: boolean) => (isWhole ? {} : { patienceMs: 0 })

/** What the targets of these tests have in common; `management` is of whoever's tokens are given. */
export function targetOptions(
  open: ConformanceOptions["open"],
  management: (token: () => string) => ConformanceOptions["management"],
  limits: Partial<Limits>,
): ConformanceOptions {
  const [token, other] = [tokenFor("devkey"), tokenFor("otherkey")]
  return {
    open,
    management: management(token),
    token,
    key: { apiKey: "devkey", secret: keys.devkey },
    otherProject: { management: management(other), token: other },
    limits,
  }
}
