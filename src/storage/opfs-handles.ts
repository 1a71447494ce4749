import { AgentDBError } from "../wire/errors.ts"
import { CheckedFile, type RawHandle } from "./checked-file.ts"
import type { SyncFile } from "./storage.ts"

/** A handle of a worker that has just died is let go after some moments. */
const conflictWaitMs = 6_000
const longestPauseMs = 200

/** What the DOM library leaves out: the first exists in dedicated workers only, the second outside the standard. */
interface SyncFileHandle extends FileSystemFileHandle {
  createSyncAccessHandle(): Promise<RawHandle>
  move(folder: FileSystemDirectoryHandle, name: string): Promise<void>
}

export async function openSyncHandle(file: FileSystemFileHandle): Promise<SyncFile> {
  return new CheckedFile(await (file as SyncFileHandle).createSyncAccessHandle())
}

/** Renames a file that nobody has open: after a crash it has the one name or the other. The handle goes with it. */
export function moveFile(file: FileSystemFileHandle, folder: FileSystemDirectoryHandle, name: string): Promise<void> {
  return whenFree(file.name, () => (file as SyncFileHandle).move(folder, name))
}

/**
 * Opens a file for this worker alone; waits for a dead worker's handle.
 * @throws AgentDBError `unavailable` if somebody still holds it after some seconds
 */
export function acquire(file: FileSystemFileHandle): Promise<SyncFile> {
  return whenFree(file.name, () => openSyncHandle(file))
}

async function whenFree<T>(name: string, action: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + conflictWaitMs
  for (let pause = 10; ; pause = Math.min(pause * 2, longestPauseMs)) {
    try {
      return await action()
    } catch (error) {
      if (!isExclusiveConflict(error)) throw error
      if (performance.now() > giveUpAt) {
        throw new AgentDBError("unavailable", `another tab or worker holds the file ${name}`, { cause: error })
      }
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}

/** Somebody has the file open. */
export function isExclusiveConflict(error: unknown): boolean {
  const name = errorName(error)
  return name === "NoModificationAllowedError" || name === "InvalidStateError"
}

export const isNotFound = (error: unknown): boolean => errorName(error) === "NotFoundError"

export const errorName = (error: unknown): string => (error instanceof Error ? error.name : String(error))

/** Undefined for a folder that is not there. */
export async function findFolder(
  parent: FileSystemDirectoryHandle,
  name: string,
): Promise<FileSystemDirectoryHandle | undefined> {
  return parent.getDirectoryHandle(name).catch(undefinedIfMissing)
}

/** Undefined for a file that is not there. */
export async function findFile(
  folder: FileSystemDirectoryHandle,
  name: string,
): Promise<FileSystemFileHandle | undefined> {
  return folder.getFileHandle(name).catch(undefinedIfMissing)
}

/** Removes an entry; one that is not there is removed already. */
export async function removeEntry(folder: FileSystemDirectoryHandle, name: string, recursive = false): Promise<void> {
  try {
    await whenFree(name, () => folder.removeEntry(name, { recursive }))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Names of the entries of one kind. */
export async function entryNames(folder: FileSystemDirectoryHandle, kind: FileSystemHandleKind): Promise<string[]> {
  const names: string[] = []
  for await (const [name, handle] of folder.entries()) if (handle.kind === kind) names.push(name)
  return names
}

function undefinedIfMissing(error: unknown): undefined {
  if (isNotFound(error) || errorName(error) === "TypeMismatchError") return undefined
  throw error
}
