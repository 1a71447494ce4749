import type { BrowserContext, Page } from "@playwright/test"
import { workerUrl } from "../../node/worker-url.ts"
import { type RoutedAgentDB, type RouteOptions, route } from "./route.ts"

export type { Limits } from "../../wire/limits.ts"
export { type AgentDBFixtures, agentdbFixtures } from "./fixtures.ts"
export { expect, test } from "./ready-test.ts"
export type { RoutedAgentDB, RouteOptions } from "./route.ts"

/**
 * Serves an unmodified page from this process, without a network: WebSockets to `url` and Twirp calls at
 * its origin go to a fresh service in memory. Call it before the page opens its socket.
 *
 * WebSockets of workers and requests of service workers are not routed: Playwright does not see them.
 * @returns the service, to seed it and to look into it. Close it when done.
 * @throws AgentDBError `invalid_argument` for bad limits or keys; TypeError for a `url` that is none.
 */
export function routeAgentDB(target: Page | BrowserContext, options: RouteOptions): Promise<RoutedAgentDB> {
  return route(target, options, workerUrl)
}
