import type { SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import { Rc } from "./constants.ts"
import { ioResult } from "./vfs/io-error.ts"

/** @throws AgentDBError `SQLITE_FULL` if the disk or the quota is full. */
export function writePiece(file: SyncFile, piece: Uint8Array, at: number): void {
  const written = orFull(() => file.write(piece, { at }))
  // Browsers answer a full disk with a short count, and some with nonsense.
  if (written !== piece.length) throw full()
}

/** Grows or cuts the file. @throws AgentDBError `SQLITE_FULL` if the quota has no room for it. */
export function resize(file: SyncFile, bytes: number): void {
  orFull(() => file.truncate(bytes))
}

function orFull<T>(action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw ioResult(error, Rc.IOERR) === Rc.FULL ? full(error) : error
  }
}

const full = (cause?: unknown): AgentDBError => new AgentDBError("SQLITE_FULL", "database or disk is full", { cause })
