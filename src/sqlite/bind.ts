import type { AgentDB_Wire_Value as WireValue } from "../gen/livekit_agentdb_pb.ts"
import { AgentDBError } from "../wire/errors.ts"
import { Rc } from "./constants.ts"
import type { Engine } from "./engine.ts"

const encoder = new TextEncoder()

/**
 * Binds every parameter of a statement.
 * @throws AgentDBError `invalid_argument` if the count differs or a value is unset, `SQLITE_TOOBIG`, `SQLITE_NOMEM`
 */
export function bindAll(engine: Engine, db: number, statement: number, params: readonly WireValue[]): void {
  const wanted = engine.sqlite.sqlite3_bind_parameter_count(statement)
  if (wanted !== params.length) {
    throw new AgentDBError("invalid_argument", `the statement has ${wanted} parameters, got ${params.length} values`)
  }
  params.forEach((param, i) => {
    const rc = bindOne(engine, statement, i + 1, param)
    if (rc !== Rc.OK) throw engine.error(db, rc)
  })
}

function bindOne({ sqlite, heap, freeDestructor }: Engine, statement: number, index: number, param: WireValue): number {
  const { value } = param
  switch (value.case) {
    case "nullValue":
      return sqlite.sqlite3_bind_null(statement, index)
    case "intValue":
      return sqlite.sqlite3_bind_int64(statement, index, value.value)
    case "doubleValue":
      // The engine turns NaN into NULL.
      return sqlite.sqlite3_bind_double(statement, index, value.value)
    case "textValue": {
      const bytes = encoder.encode(value.value)
      const pointer = copyIn(heap, bytes)
      return sqlite.sqlite3_bind_text(statement, index, pointer, bytes.length, freeDestructor)
    }
    case "blobValue": {
      if (value.value.length === 0) return sqlite.sqlite3_bind_zeroblob(statement, index, 0)
      const pointer = copyIn(heap, value.value)
      return sqlite.sqlite3_bind_blob(statement, index, pointer, value.value.length, freeDestructor)
    }
    default:
      throw new AgentDBError("invalid_argument", `parameter ${index} has no value`)
  }
}

/** The engine frees it, also when binding fails. Never a null pointer, which would bind NULL. */
function copyIn(heap: Engine["heap"], bytes: Uint8Array): number {
  const pointer = heap.allocate(bytes.length)
  heap.bytes.set(bytes, pointer)
  return pointer
}
