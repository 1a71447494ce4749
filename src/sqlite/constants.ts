/** The numbers of sqlite3.h that these rooms need; `Rc` also appears as SQLite's name in an error's code. */
export const Rc = {
  OK: 0,
  ERROR: 1,
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  INTERRUPT: 9,
  IOERR: 10,
  CORRUPT: 11,
  NOTFOUND: 12,
  FULL: 13,
  CANTOPEN: 14,
  AUTH: 23,
  NOTADB: 26,
  ROW: 100,
  DONE: 101,
  IOERR_READ: 10 | (1 << 8),
  IOERR_SHORT_READ: 10 | (2 << 8),
  IOERR_WRITE: 10 | (3 << 8),
  IOERR_FSYNC: 10 | (4 << 8),
  IOERR_TRUNCATE: 10 | (6 << 8),
  IOERR_FSTAT: 10 | (7 << 8),
  IOERR_DELETE: 10 | (10 << 8),
  IOERR_NOMEM: 10 | (12 << 8),
  IOERR_SHMMAP: 10 | (21 << 8),
} as const

export const OpenFlag = {
  READWRITE: 0x2,
  MAIN_DB: 0x100,
  MAIN_JOURNAL: 0x800,
  SUPER_JOURNAL: 0x4000,
  WAL: 0x8_0000,
  EXRESCODE: 0x200_0000,
} as const

export const LockLevel = { NONE: 0, SHARED: 1, RESERVED: 2, PENDING: 3, EXCLUSIVE: 4 } as const

export const ShmFlag = { UNLOCK: 1, LOCK: 2, SHARED: 4, EXCLUSIVE: 8 } as const

/** sqlite3_file_control: called after the sync of the WAL and before the first page goes back. */
export const FCNTL_CKPT_START = 39

/** UNDELETABLE_WHEN_OPEN and POWERSAFE_OVERWRITE: without the latter each commit would pad the WAL to a sector. */
export const deviceCharacteristics = 0x800 | 0x1000

export const sectorSize = 4096

export const DBCONFIG_DEFENSIVE = 1010

/** How sqlite3_create_function is told of a function's text, and that views and triggers may call it. */
export const TextEncoding = { UTF8: 1, INNOCUOUS: 0x20_0000 } as const

/** Fundamental types, as sqlite3_column_type tells them. */
export const ColumnType = { INTEGER: 1, FLOAT: 2, TEXT: 3, BLOB: 4, NULL: 5 } as const

/** Actions of the authorizer. */
export const Action = {
  CREATE_INDEX: 1,
  CREATE_TABLE: 2,
  CREATE_TEMP_INDEX: 3,
  CREATE_TEMP_TABLE: 4,
  CREATE_TEMP_TRIGGER: 5,
  CREATE_TEMP_VIEW: 6,
  CREATE_TRIGGER: 7,
  CREATE_VIEW: 8,
  DELETE: 9,
  DROP_INDEX: 10,
  DROP_TABLE: 11,
  DROP_TEMP_INDEX: 12,
  DROP_TEMP_TABLE: 13,
  DROP_TEMP_TRIGGER: 14,
  DROP_TEMP_VIEW: 15,
  DROP_TRIGGER: 16,
  DROP_VIEW: 17,
  INSERT: 18,
  PRAGMA: 19,
  READ: 20,
  SELECT: 21,
  TRANSACTION: 22,
  UPDATE: 23,
  ATTACH: 24,
  DETACH: 25,
  ALTER_TABLE: 26,
  REINDEX: 27,
  ANALYZE: 28,
  CREATE_VTABLE: 29,
  DROP_VTABLE: 30,
  FUNCTION: 31,
  SAVEPOINT: 32,
} as const

/** What an authorizer answers to refuse. */
export const DENY = 1
