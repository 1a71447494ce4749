import { AgentDBError } from "../wire/errors.ts"
import { handleFault } from "./handle-fault.ts"
import { errorName, isExclusiveConflict, isNotFound, openSyncHandle } from "./opfs-handles.ts"
import { encodeSegment } from "./paths.ts"
import { isQuotaExceeded } from "./quota.ts"

export interface StorageProbe {
  readonly kind: "opfs" | "memory"
  /** Why it is memory, in words for a person. */
  readonly reason?: string
}

/** One of its own for each service: what one removes is never what another is about to open. */
const probeName = (service: string): string => `.agentdb-probe-${encodeSegment(service)}`
/** Of opening a file that somebody removes in between, such as a second worker of the same service. */
const attempts = 5

const blocked = "a private window, or blocked by settings"
/** Names of the errors by which browsers say that there is no such file system for this page. */
const refusals: Partial<Record<string, string>> = {
  SecurityError: blocked,
  UnknownError: blocked,
  NotAllowedError: "not allowed for this page",
  NotSupportedError: "not supported here",
  TypeError: "the functions of this browser are not those of the standard",
}

/**
 * What this worker can store in. It really uses a file: private windows and old browsers have the functions, which
 * fail, or do something else, when they are called.
 * @param service its name within the origin
 * @throws AgentDBError `unavailable` for a failure that says nothing of the browser: whoever has files here must
 * not be given an empty service
 */
export async function probeStorage(service: string): Promise<StorageProbe> {
  if (!globalThis.isSecureContext) return memory("the page is not a secure context (https or localhost)")
  if (typeof navigator === "undefined" || typeof navigator.storage?.getDirectory !== "function") {
    return memory("this browser has no origin private file system here")
  }
  if (typeof FileSystemFileHandle === "undefined" || !("createSyncAccessHandle" in FileSystemFileHandle.prototype)) {
    return memory("this browser has no createSyncAccessHandle in this worker")
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const fault = await tryFile(probeName(service))
      return fault === undefined ? { kind: "opfs" } : memory(`files of this browser do not work as they must: ${fault}`)
    } catch (error) {
      // Another worker probes at this moment, or there is no room for one more file: so it works.
      if (isExclusiveConflict(error) || isQuotaExceeded(error)) return { kind: "opfs" }
      const refusal = refusals[errorName(error)]
      if (refusal !== undefined) return memory(`the origin private file system cannot be opened: ${refusal}`)
      if (!isNotFound(error) || attempt === attempts) {
        const message = `the origin private file system can't be opened just now: ${error}`
        throw new AgentDBError("unavailable", message, { cause: error })
      }
    }
  }
}

/** Gives what is wrong with a file, if it can be opened. */
async function tryFile(name: string): Promise<string | undefined> {
  const root = await navigator.storage.getDirectory()
  const file = await openSyncHandle(await root.getFileHandle(name, { create: true }))
  try {
    return handleFault(file)
  } finally {
    file.close()
    await root.removeEntry(name).catch(() => {})
  }
}

const memory = (reason: string): StorageProbe => ({ kind: "memory", reason })
