import type { SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Connection } from "./connection.ts"
import type { RunContext } from "./interrupt.ts"

const headerBytes = 100
const formatName = "SQLite format 3\0"

/**
 * Checks what can be seen without the engine and puts the file into WAL mode.
 *
 * A file that is in WAL mode already is refused: its newest commits may be in a `-wal` file that did not come with
 * it, and nothing in the file tells.
 */
export function prepareForeignFile(file: SyncFile): void {
  const header = new Uint8Array(headerBytes)
  const read = file.read(header, { at: 0 })
  if (read < headerBytes || new TextDecoder("latin1").decode(header.subarray(0, 16)) !== formatName) {
    throw new AgentDBError("SQLITE_NOTADB", "file is not a database")
  }
  if (header[18] === 2 || header[19] === 2) {
    throw new AgentDBError(
      "failed_precondition",
      "the file is in WAL mode, so commits may be missing from it: run PRAGMA journal_mode=DELETE on it first",
    )
  }
  const view = new DataView(header.buffer)
  const pageBytes = view.getUint16(16) === 1 ? 65_536 : view.getUint16(16)
  const pages = view.getUint32(28)
  // The page count holds only if the two counters agree; older writers leave it alone.
  const isCounted = pages > 0 && view.getUint32(24) === view.getUint32(92)
  const size = file.getSize()
  if (size % pageBytes !== 0 || (isCounted && size < pages * pageBytes)) {
    throw new AgentDBError("SQLITE_CORRUPT", "the file is not whole")
  }
  file.write(Uint8Array.of(2, 2), { at: 18 })
}

/** @throws AgentDBError `SQLITE_CORRUPT` with the first finding, and as `PreparedStatement.step` */
export function checkIntegrity(connection: Connection, run: RunContext): void {
  const statement = connection.prepareOwn("PRAGMA integrity_check(1)")
  try {
    statement.step(run)
    const finding = statement.text(0)
    if (finding !== "ok") throw new AgentDBError("SQLITE_CORRUPT", `database disk image is malformed: ${finding}`)
  } finally {
    statement.finalize()
  }
}
