import type { ColumnBatchWriter } from "../wire/column-batch-writer.ts"
import { AgentDBError } from "../wire/errors.ts"
import { ColumnType } from "./constants.ts"
import type { SqliteExports } from "./exports.ts"
import type { Heap } from "./heap.ts"

/**
 * Appends the row that stands, straight from the heap: text is never decoded here.
 * @returns false, with nothing appended, if it does not fit beside the rows that are there.
 * @throws AgentDBError `resource_exhausted` if it fits no frame at all
 */
export function appendRow(
  sqlite: SqliteExports,
  heap: Heap,
  statement: number,
  batch: ColumnBatchWriter,
  maxFrameBytes: number,
): boolean {
  const { columns } = batch
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i] as (typeof columns)[number]
    switch (sqlite.sqlite3_column_type(statement, i)) {
      case ColumnType.INTEGER: {
        // A double holds it exactly up to 2^53, and a bigint costs ten times as much.
        const value = sqlite.sqlite3_column_double(statement, i)
        if (Number.isSafeInteger(value)) column.int(value)
        else column.int64(sqlite.sqlite3_column_int64(statement, i))
        break
      }
      case ColumnType.FLOAT:
        column.double(sqlite.sqlite3_column_double(statement, i))
        break
      case ColumnType.TEXT:
      case ColumnType.BLOB: {
        const isText = sqlite.sqlite3_column_type(statement, i) === ColumnType.TEXT
        // The pointer first: asking for it may convert, which settles the length.
        const start = isText ? sqlite.sqlite3_column_text(statement, i) : sqlite.sqlite3_column_blob(statement, i)
        const length = sqlite.sqlite3_column_bytes(statement, i)
        if (start === 0 && length > 0) throw new AgentDBError("SQLITE_NOMEM", "out of memory")
        if (length > maxFrameBytes) return doesNotFit(batch, length, maxFrameBytes)
        const bytes = heap.bytes.subarray(start, start + length)
        if (isText) column.text(bytes)
        else column.blob(bytes)
        break
      }
      default:
        column.null()
    }
  }
  if (batch.byteLength > maxFrameBytes) return doesNotFit(batch, batch.byteLength, maxFrameBytes)
  batch.endRow()
  return true
}

function doesNotFit(batch: ColumnBatchWriter, bytes: number, maxFrameBytes: number): false {
  batch.dropRow()
  if (batch.rows > 0) return false
  throw new AgentDBError(
    "resource_exhausted",
    `a row of at least ${bytes} bytes does not fit a frame of ${maxFrameBytes} bytes`,
  )
}
