import { WebSocket } from "ws"
import { AgentDBServiceClient } from "../client/index.ts"
import { conformance, formatReport, type RuleResult } from "../conformance/index.ts"
import { type Keys, mintToken } from "../wire/jwt.ts"
import type { Limits } from "../wire/limits.ts"

export interface CheckOptions {
  /** Of the socket; the management plane is at its origin. */
  readonly url: string
  /** Of the first key's project databases are made; a second key is to be of another project. */
  readonly keys: Keys
  readonly limits: Limits
  readonly only: readonly string[] | undefined
}

/** Runs the conformance kit against a server that runs somewhere. @returns whether no rule failed */
export async function checkConformance(options: CheckOptions, print: (text: string) => void): Promise<boolean> {
  const { url, limits, only } = options
  const origin = new URL(url).origin.replace(/^ws/, "http")
  const projects = Object.entries(options.keys).map(([apiKey, secret]) => {
    const token = () => mintToken(apiKey, secret, Math.floor(Date.now() / 1_000))
    return { key: { apiKey, secret }, token, management: new AgentDBServiceClient({ url: origin, token }) }
  })
  const [mine, other] = projects
  if (!mine) throw new RangeError("there is no key")
  // Has all that a link uses of a browser's class.
  const open = () => new WebSocket(url, { perMessageDeflate: true }) as unknown as globalThis.WebSocket
  const results: RuleResult[] = []
  const run = conformance({ ...mine, otherProject: other, open, twirp: { url: origin }, limits, only })
  for await (const result of run) results.push(result)
  print(formatReport(results))
  return results.every(({ outcome }) => outcome !== "failed")
}
