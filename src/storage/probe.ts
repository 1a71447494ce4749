import { errorName, isExclusiveConflict, openSyncHandle } from "./opfs-handles.ts"

export interface StorageProbe {
  readonly kind: "opfs" | "memory"
  /** Why it is memory, in words for a person. */
  readonly reason?: string
}

const probeName = ".agentdb-probe"

/**
 * What this worker can store in. It really opens a file: private windows and old browsers have the functions and
 * fail when they are called.
 */
export async function probeStorage(): Promise<StorageProbe> {
  if (!globalThis.isSecureContext) return memory("the page is not a secure context (https or localhost)")
  if (typeof navigator === "undefined" || typeof navigator.storage?.getDirectory !== "function") {
    return memory("this browser has no origin private file system here")
  }
  if (typeof FileSystemFileHandle === "undefined" || !("createSyncAccessHandle" in FileSystemFileHandle.prototype)) {
    return memory("this browser has no createSyncAccessHandle in this worker")
  }
  return tryFile()
}

async function tryFile(): Promise<StorageProbe> {
  try {
    const root = await navigator.storage.getDirectory()
    const file = await root.getFileHandle(probeName, { create: true })
    const handle = await openSyncHandle(file)
    handle.close()
    await root.removeEntry(probeName).catch(() => {})
    return { kind: "opfs" }
  } catch (error) {
    // Another worker probes at this moment, so it works.
    if (isExclusiveConflict(error)) return { kind: "opfs" }
    const name = errorName(error)
    const why = name === "SecurityError" || name === "UnknownError" ? "a private window, or blocked by settings" : name
    return memory(`the origin private file system cannot be opened: ${why}`)
  }
}

const memory = (reason: string): StorageProbe => ({ kind: "memory", reason })
