import type {
  Fixtures,
  PlaywrightTestArgs,
  PlaywrightTestOptions,
  PlaywrightWorkerArgs,
  PlaywrightWorkerOptions,
} from "@playwright/test"
import { workerUrl } from "../../node/worker-url.ts"
import { type RoutedAgentDB, type RouteOptions, route } from "./route.ts"

export interface AgentDBFixtures {
  /** An option, for `test.use` and the configuration. The default is `{ url: "wss://agents.example.test/db" }`. */
  agentdbOptions: RouteOptions
  /** A service of the test's own, which every page of its `context` is served by at `agentdbOptions.url`. */
  agentdb: RoutedAgentDB
}

/** For `test.extend`. */
export const agentdbFixtures: Fixtures<
  AgentDBFixtures,
  object,
  PlaywrightTestArgs & PlaywrightTestOptions,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions
> = {
  agentdbOptions: [{ url: "wss://agents.example.test/db" }, { option: true }],
  agentdb: async ({ context, agentdbOptions }, use) => {
    await using agentdb = await route(context, agentdbOptions, workerUrl)
    await use(agentdb)
  },
}
