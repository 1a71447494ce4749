import { expect, type Page } from "@playwright/test"
import { openHarness } from "../../fixtures/browser.ts"
import type { Profile } from "../../fixtures/profile.ts"
import { openService, recordWorkers, values } from "../host/service-page.ts"

/** Both ways that a tab's calls reach the worker of another tab. */
export const routes = ["broker", "broadcast"] as const
export type Route = (typeof routes)[number]

export const testing = (route: Route) => ({ testing: { broadcastOnly: route === "broadcast" } })

/** A new tab with the test page, which keeps its workers and its uncaught errors. */
export async function newTab(profile: Profile, origin: string, name?: string): Promise<Page> {
  const page = await profile.context.newPage()
  await recordWorkers(page)
  return openHarness(page, origin, name)
}

/** A new tab with the service open. */
export async function newOpenTab(
  profile: Profile,
  origin: string,
  route: Route = "broker",
  options: Parameters<typeof openService>[1] = {},
): Promise<Page> {
  const page = await newTab(profile, origin)
  await openService(page, { ...testing(route), ...options })
  return page
}

export const roleOf = (page: Page): Promise<string> => page.evaluate(() => window.db.status.role)

/**
 * Waits until one of the tabs that are left leads and each is connected to it: a write that goes to the one before
 * may end as `disconnected`, and a read is asked again.
 */
export async function takenOver(...tabs: readonly Page[]): Promise<void> {
  const leads = async () => (await Promise.all(tabs.map(roleOf))).includes("leader")
  await expect.poll(leads).toBe(true)
  for (const tab of tabs) await values(tab)
}
