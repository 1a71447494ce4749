import { AgentDBError } from "../wire/errors.ts"
import type { SyncFile } from "./storage.ts"

const pageBytes = 4096

/**
 * Puts a handle to the use that is made of one, and tells what of it is not as the standard has it. A disk without
 * room is no fault.
 * @throws what the handle throws
 */
export function handleFault(file: SyncFile): string | undefined {
  try {
    return contentFault(file)
  } catch (error) {
    if (error instanceof AgentDBError && error.code.startsWith("SQLITE_IOERR")) return error.message
    throw error
  }
}

function contentFault(file: SyncFile): string | undefined {
  const bytes = Uint8Array.from({ length: pageBytes }, (_, i) => 1 + (i % 251))
  file.truncate(0)
  if (file.write(bytes, { at: 0 }) < pageBytes) return undefined
  if (file.getSize() !== pageBytes) return "a file does not grow by what is written"
  file.truncate(2 * pageBytes)
  const found = new Uint8Array(2 * pageBytes)
  if (file.read(found, { at: 0 }) !== found.length) return "a file that was enlarged can't be read"
  if (found.some((byte, i) => byte !== (bytes[i] ?? 0))) return "a file does not hold what was written"
  if (file.read(found, { at: 3 * pageBytes }) !== 0) return "a read beyond the end of a file finds something"
  file.truncate(1)
  return undefined
}
