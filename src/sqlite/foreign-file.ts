import type { DatabaseFiles } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import { Connection } from "./connection.ts"
import type { Engine } from "./engine.ts"
import type { RunContext } from "./interrupt.ts"

/** SQLite's file format, section 1.3. */
export const headerBytes = 100
const magic = "SQLite format 3\0"
/** Where the versions for writing and reading stand; 1 is a rollback journal, 2 is WAL. */
const versionsAt = 18
const walVersion = 2
const encodingAt = 56
const utf8 = 1
/** The engine is built without it. */
const utf16 =
  "the file's text is in UTF-16, which can't be read here; make one in UTF-8: sqlite3 old.db .dump | sqlite3 new.db"

/** What the header of a file says that is to become a database. */
export interface ForeignHeader {
  /** It was in WAL mode: commits may be in a file beside it. */
  readonly hasWal: boolean
}

/**
 * Looks at the first bytes of a file of `totalBytes` bytes.
 * @param withWal its WAL comes along, which may hold what the file lacks
 * @throws AgentDBError `invalid_argument` for what is no SQLite database, `data_loss` for one that was cut
 */
export function readForeignHeader(start: Uint8Array, totalBytes: number, withWal: boolean): ForeignHeader {
  if (totalBytes === 0) throw new AgentDBError("invalid_argument", "the file is empty")
  if (start[0] === 0x1f && start[1] === 0x8b) {
    throw new AgentDBError("invalid_argument", "the file is compressed by gzip: decompress it first")
  }
  const text = String.fromCharCode(...start.subarray(0, magic.length))
  if (text !== magic) throw new AgentDBError("invalid_argument", "the file is not a SQLite database")
  if (totalBytes < headerBytes || start.length < headerBytes) throw cut(headerBytes, totalBytes)
  const view = new DataView(start.buffer, start.byteOffset, start.length)
  const pageSize = view.getUint16(16) === 1 ? 65_536 : view.getUint16(16)
  const isPower = (pageSize & (pageSize - 1)) === 0
  if (pageSize < 512 || !isPower) throw new AgentDBError("data_loss", `the file's page size is ${pageSize}`)
  const [writeVersion = 0, readVersion = 0] = start.subarray(versionsAt, versionsAt + 2)
  if (writeVersion > walVersion || readVersion > walVersion) {
    throw new AgentDBError("invalid_argument", "the file has a format that is newer than this version of SQLite")
  }
  if ((view.getUint32(encodingAt) & 3) > utf8) throw new AgentDBError("invalid_argument", utf16)
  // Versions of SQLite before 3.7 leave the number of pages as it was.
  const pages = view.getUint32(24) === view.getUint32(92) ? view.getUint32(28) : 0
  const bytes = Math.max(pages, 1) * pageSize
  if (!withWal && totalBytes < bytes) throw cut(bytes, totalBytes)
  return { hasWal: readVersion === walVersion }
}

/** Databases are in WAL mode here, whatever they were. @param start the first bytes of the file, changed in place */
export function markWalMode(start: Uint8Array): void {
  start.fill(walVersion, versionsAt, versionsAt + 2)
}

/**
 * Reads all of a database that nothing vouches for, after moving its WAL into it, if it has one.
 * Takes about as long as reading the file; `run` ends it. The files stay open.
 * @throws AgentDBError `data_loss` if it is damaged, `invalid_argument` if its schema needs what is not here,
 * `canceled` or `deadline_exceeded` if `run` ended it
 */
export function verifyForeign(engine: Engine, files: DatabaseFiles, run: RunContext): void {
  const mount = engine.vfs.mount(files)
  let connection: Connection | undefined
  try {
    connection = new Connection(engine, mount, "writer")
    if (files.wal.getSize() > 0) emptyWal(connection, run)
    refusePageTables(connection, run)
    const problems = column(connection, "PRAGMA integrity_check(3)", run)
    if (problems[0] !== "ok") throw new AgentDBError("data_loss", `the database is damaged: ${problems.join("; ")}`)
  } catch (error) {
    throw verdict(error)
  } finally {
    mount.sealed = true
    connection?.close()
    engine.vfs.unmount(mount)
  }
}

function emptyWal(connection: Connection, run: RunContext): void {
  column(connection, "SELECT count(*) FROM sqlite_schema", run)
  const [isBusy] = column(connection, "PRAGMA wal_checkpoint(TRUNCATE)", run)
  if (isBusy !== "0") throw new AgentDBError("SQLITE_FULL", "there is no room to move the WAL into the database")
}

/** Pages are nobody's business, under no name. */
function refusePageTables(connection: Connection, run: RunContext): void {
  const made = column(connection, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND rootpage = 0", run)
  const refused = made.find((sql) => /\busing\s+["'`[]?sqlite_dbpage\b/i.test(sql))
  if (refused !== undefined) {
    throw new AgentDBError("invalid_argument", `sqlite_dbpage is not available: ${refused.slice(0, 200)}`)
  }
}

function column(connection: Connection, sql: string, run: RunContext): string[] {
  const statement = connection.prepareOwn(sql)
  try {
    const values: string[] = []
    while (statement.step(run)) values.push(statement.text(0))
    return values
  } finally {
    statement.finalize()
  }
}

function verdict(error: unknown): unknown {
  if (!(error instanceof AgentDBError)) return error
  const { code, message } = error
  if (/^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) {
    return new AgentDBError("data_loss", `the database is damaged: ${message}`, { cause: error })
  }
  if (!/^SQLITE_(?:ERROR|AUTH|CANTOPEN)/.test(code)) return error
  return new AgentDBError("invalid_argument", `the database can't be used here: ${message}`, { cause: error })
}

function cut(needed: number, found: number): AgentDBError {
  return new AgentDBError("data_loss", `the file was cut: it has ${found} of at least ${needed} bytes`)
}
