import { AgentDBError } from "../wire/errors.ts"
import { resolveLimits } from "../wire/limits.ts"
import { AgentDB } from "./agentdb.ts"
import type { LifeOptions } from "./life.ts"
import { join } from "./membership.ts"
import { firstKey, mintFor, projectOf } from "./project.ts"
import { lease } from "./registry.ts"
import { assertWorkers } from "./spawn.ts"
import { Supervisor } from "./supervisor.ts"
import { generation } from "./tabs/generation.ts"
import type { OpenOptions } from "./types.ts"

/**
 * Opens the agent-database service of this origin. Opening a name that this page
 * has open already gives another handle on the same service, which keeps the
 * options it was started with (`token` and `onStatus` are each handle's own).
 *
 * @throws AgentDBError `failed_precondition` if this is no browser, the storage asked for is not there (the message
 * says what is missing), another tab runs a newer version, or the worker or its wasm can't be loaded (the message names the
 * URL); `unavailable` if the tab that has the files does not answer; `invalid_argument` for an option that can't be.
 */
export async function openAgentDB(options: OpenOptions = {}): Promise<AgentDB> {
  const start = startOptions(options)
  assertWorkers()
  const held = await lease(start.name, () => new Supervisor(start))
  try {
    await held.supervisor.life()
    const { storage, reason } = held.supervisor.status
    if (start.storage === "opfs" && storage !== "opfs") {
      const why = reason ?? "it was opened with memory"
      throw new AgentDBError("failed_precondition", `storage "opfs" is not available: ${why}`)
    }
    const membership = join(held.supervisor)
    const keys = () => options.keys ?? held.supervisor.keys
    const token = options.token ?? mintFor(keys)
    const db = new AgentDB({ lease: held, membership, token, project: () => projectOf(token, keys()) })
    const { onStatus } = options
    if (onStatus) db.addEventListener("statuschange", () => onStatus(db.status))
    return db
  } catch (error) {
    await held.release().catch(() => {})
    throw error
  }
}

function startOptions(options: OpenOptions): LifeOptions {
  const { name = "agentdb", storage = "auto", keys } = options
  if (typeof name !== "string" || name === "") throw new AgentDBError("invalid_argument", "name must be a string")
  if (!["auto", "opfs", "memory"].includes(storage)) {
    throw new AgentDBError("invalid_argument", `storage must be "auto", "opfs" or "memory", got ${String(storage)}`)
  }
  if (keys) firstKey(keys)
  return {
    name,
    storage,
    keys: keys && { ...keys },
    limits: resolveLimits(options.limits),
    workerUrl: absolute(options.workerUrl),
    wasmUrl: absolute(options.wasmUrl),
    generation: options.testing?.generation ?? generation,
    broadcastOnly: options.testing?.broadcastOnly ?? false,
  }
}

/** Relative addresses are the page's, also those that the worker fetches. */
function absolute(url: string | URL | undefined): string | undefined {
  if (url === undefined) return undefined
  return new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href).href
}
