import { test } from "@playwright/test"
import { conformance, type RuleResult } from "agentdb-web/conformance"
import { WebSocket } from "ws"
import { AgentDBServiceClient } from "../../../src/client/index.ts"
import { keys, patience, smallLimits, targetOptions } from "../../conformance/targets.ts"
import { isWhole, title, verdict } from "../../conformance/verdict.ts"
import { startServer } from "../../fixtures/node-server.ts"

const transport = "a WebSocket from Node to the Node server"

test(title(transport), async () => {
  test.setTimeout(300_000)
  const { url, wsUrl, close } = await startServer({ keys, limits: smallLimits })
  try {
    // Has all that a link uses of a browser's class; and offers a compression that is to be declined.
    const open = () => new WebSocket(wsUrl, { perMessageDeflate: true }) as unknown as globalThis.WebSocket
    const calls = (token: () => string) => new AgentDBServiceClient({ url, token })
    const options = { ...targetOptions(open, calls, smallLimits), ...patience(isWhole), twirp: { url } }
    const results: RuleResult[] = []
    for await (const result of conformance(options)) results.push(result)
    verdict(transport, results)
  } finally {
    await close()
  }
})
