import { AgentDBError } from "../wire/errors.ts"
import { StatementAuthorizer, type StatementScope } from "./authorizer.ts"
import type { Connection } from "./connection.ts"
import { Rc } from "./constants.ts"
import { classify, type StatementKind } from "./kind.ts"
import { PreparedStatement } from "./statement.ts"

const emptySql = "no SQL statement"
const manyStatements = "more than one SQL statement"

interface Prepared {
  readonly pointer: number
  readonly authorizer: StatementAuthorizer
}

/** See `Connection.prepare`. */
export function prepareStatement(connection: Connection, sql: string, scope: StatementScope): PreparedStatement {
  if (sql.includes("\0")) throw new AgentDBError("invalid_argument", "SQL contains U+0000")
  let prepared = prepareOnce(connection, sql, scope)
  if (namesMoreThanItsTable(prepared.authorizer)) {
    // Virtual tables prepare statements of their own when a connection meets them first. Once they are known only
    // what the statement itself does is left.
    connection.engine.sqlite.sqlite3_finalize(prepared.pointer)
    prepared = prepareOnce(connection, sql, scope)
  }
  const { pointer, authorizer } = prepared
  const kind = classify(connection.engine, pointer, sql, authorizer)
  authorizer.vacuum = kind.vacuum
  const statement = new PreparedStatement(connection, pointer, kind, authorizer)
  if (kind.readonly && !kind.explain) authorizer.refuseIndirectlyLocal()
  if (!authorizer.refusal) return statement
  statement.finalize()
  throw authorizer.refusal
}

/** A statement of our own, which nobody judges. */
export function prepareOwn(connection: Connection, sql: string): PreparedStatement {
  const { heap } = connection.engine
  const text = heap.allocateText(sql)
  try {
    const { pointer } = compile(connection, text.pointer, text.bytes, undefined)
    return new PreparedStatement(connection, pointer, ownKind, undefined)
  } finally {
    heap.free(text.pointer)
  }
}

const ownKind: StatementKind = {
  readonly: false,
  explain: false,
  inserts: false,
  changesRows: false,
  ddl: false,
  savepoint: false,
  maintenance: false,
  vacuum: false,
}

/** The first statement of `sql`, if nothing but whitespace, comments and `;` is around it. */
function prepareOnce(connection: Connection, sql: string, scope: StatementScope): Prepared {
  const { heap, sqlite } = connection.engine
  const text = heap.allocateText(sql)
  const end = text.pointer + text.bytes
  try {
    for (let at = text.pointer; at < end; ) {
      const authorizer = new StatementAuthorizer(heap, scope)
      const { pointer, tail } = compile(connection, at, end - at, authorizer)
      if (pointer !== 0) {
        if (isBlank(connection, tail, end)) return { pointer, authorizer }
        sqlite.sqlite3_finalize(pointer)
        throw new AgentDBError("invalid_argument", manyStatements)
      }
      at = tail
    }
    throw new AgentDBError("invalid_argument", emptySql)
  } finally {
    heap.free(text.pointer)
  }
}

/** True if SQLite finds no statement between the two addresses; one that does not compile is one too. */
function isBlank(connection: Connection, start: number, end: number): boolean {
  const { heap, sqlite } = connection.engine
  for (let at = start; at < end; ) {
    try {
      const { pointer, tail } = compile(connection, at, end - at, new StatementAuthorizer(heap, "transaction"))
      sqlite.sqlite3_finalize(pointer)
      if (pointer !== 0) return false
      at = tail
    } catch {
      return false
    }
  }
  return true
}

function compile(
  connection: Connection,
  sql: number,
  bytes: number,
  authorizer: StatementAuthorizer | undefined,
): { pointer: number; tail: number } {
  const { engine } = connection
  const { heap, sqlite } = engine
  const out = heap.allocate(8)
  heap.setU32(out, 0)
  heap.setU32(out + 4, 0)
  engine.authorizer = authorizer
  const rc = sqlite.sqlite3_prepare_v3(connection.handle, sql, bytes, 0, out, out + 4)
  engine.authorizer = undefined
  const pointer = heap.u32(out)
  const tail = heap.u32(out + 4)
  heap.free(out)
  if (rc !== Rc.OK) throw authorizer?.refusal ?? engine.error(connection.handle, rc)
  return { pointer, tail }
}

function namesMoreThanItsTable({ inserted, changed, defines }: StatementAuthorizer): boolean {
  return !defines && inserted.size > 0 && changed.size > 1
}
