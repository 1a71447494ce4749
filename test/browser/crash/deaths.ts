import type { Page } from "@playwright/test"
import { expect } from "../../fixtures/browser.ts"
import type { Profile } from "../../fixtures/profile.ts"
import { rendererOf } from "../../fixtures/renderer.ts"
import { newTab } from "../tabs/tab.ts"

export interface Stage {
  readonly profile: Profile
  readonly origin: string
  /** Whose worker serves. */
  readonly leader: Page
  /** Another tab that writes too, where the death leaves it alive. */
  readonly follower: Page | undefined
}

/** A way to die, in two steps: what must be known before, and the death itself. It returns a living page. */
export interface Death {
  readonly name: string
  readonly leavesFollower: boolean
  prepare(stage: Stage): Promise<() => Promise<Page>>
}

const survivor = (stage: Stage): Page => {
  if (!stage.follower) throw new Error("no tab is left")
  return stage.follower
}

export const deaths: readonly Death[] = [
  {
    name: "SIGKILL of the browser",
    leavesFollower: false,
    async prepare({ profile, origin }) {
      return async () => {
        await profile.kill()
        await profile.launch()
        return newTab(profile, origin)
      }
    },
  },
  {
    name: "SIGKILL of the renderer that leads",
    leavesFollower: true,
    async prepare(stage) {
      const pid = await rendererOf(stage.profile, stage.leader)
      return async () => {
        const crashed = stage.leader.waitForEvent("crash")
        process.kill(pid, "SIGKILL")
        await crashed
        await stage.leader.close()
        return survivor(stage)
      }
    },
  },
  {
    name: "worker.terminate()",
    leavesFollower: false,
    async prepare({ leader }) {
      return async () => {
        await leader.evaluate(() => {
          window.stopped = true
          window.workersMade.at(-1)?.terminate()
        })
        // Where nothing was under way, it is the next call that meets the death.
        await leader.evaluate(() =>
          window.db.listDatabases().catch((error: { code: string }) => {
            if (error.code !== "disconnected") throw error
          }),
        )
        return leader
      }
    },
  },
  {
    name: "the leader's tab closes",
    leavesFollower: true,
    async prepare(stage) {
      return async () => {
        await stage.leader.close()
        return survivor(stage)
      }
    },
  },
]

/** Of the page's own service. */
export async function expectRole(page: Page, role: "leader" | "follower"): Promise<void> {
  const seen = await page.evaluate(async () => {
    const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
    const { status } = agentdb
    await agentdb.close()
    return status.role
  })
  expect(seen).toBe(role)
}
