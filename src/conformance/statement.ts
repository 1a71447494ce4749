import type { Cell } from "./answer.ts"

/** A parameter: bigint is INTEGER, number REAL. */
export type Given = Cell
/** SQL, or SQL with its parameters. */
export type GivenStatement = string | readonly [sql: string, ...params: Given[]]

export function statementOf(sql: string, params: readonly Given[] = []) {
  return { sql, params: params.map((param) => ({ value: oneofOf(param) })) }
}

export const batchOf = (statements: readonly GivenStatement[]) => ({
  statements: statements.map((given) => {
    if (typeof given === "string") return statementOf(given)
    const [sql, ...params] = given
    return statementOf(sql, params)
  }),
})

function oneofOf(param: Given) {
  if (param === null) return { case: "nullValue", value: true } as const
  if (typeof param === "bigint") return { case: "intValue", value: param } as const
  if (typeof param === "number") return { case: "doubleValue", value: param } as const
  if (typeof param === "string") return { case: "textValue", value: param } as const
  return { case: "blobValue", value: Uint8Array.from(param) } as const
}
