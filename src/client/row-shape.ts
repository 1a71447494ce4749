import type { ColumnBatch, ValueOptions } from "../wire/column-batch.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Value } from "../wire/values.ts"
import type { Row } from "./types.ts"

/** Reads the rows of a batch, as objects or arrays. */
export type RowShape = (batch: ColumnBatch) => (Row | Value[])[]

export function objectRows(names: readonly string[], options: ValueOptions = {}): (batch: ColumnBatch) => Row[] {
  const keys = distinct(names)
  // Copies of one object share its shape, and a spread carries `__proto__` as the own key it is here.
  const blank: Row = {}
  for (const key of keys) {
    Object.defineProperty(blank, key, { value: null, writable: true, enumerable: true, configurable: true })
  }
  return (batch) => {
    const columns = values(batch, keys.length, options)
    const rows: Row[] = new Array(batch.rows)
    for (let i = 0; i < rows.length; i++) {
      const row = { ...blank }
      for (let c = 0; c < keys.length; c++) row[keys[c] as string] = (columns[c] as Value[])[i] as Value
      rows[i] = row
    }
    return rows
  }
}

export function arrayRows(width: number, options: ValueOptions = {}): (batch: ColumnBatch) => Value[][] {
  return (batch) => {
    const columns = values(batch, width, options)
    return Array.from({ length: batch.rows }, (_, i) => columns.map((column) => column[i] as Value))
  }
}

function values(batch: ColumnBatch, width: number, options: ValueOptions): Value[][] {
  if (batch.columns.length !== width) {
    throw new AgentDBError("invalid_response", `a batch of ${batch.columns.length} columns in a result of ${width}`)
  }
  return batch.columns.map((column) => column.values(options))
}

/** A second column of a name gets `:1`, a third `:2`, past names that are taken, so no value disappears. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>()
  return names.map((name) => {
    let key = name
    for (let n = 1; taken.has(key); n++) key = `${name}:${n}`
    taken.add(key)
    return key
  })
}
