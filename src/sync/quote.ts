import { sql } from "../client/index.ts"

export const quoteName = (name: string): string => sql.id(name).sql

export const quoteNames = (names: readonly string[]): string => names.map(quoteName).join(", ")

/** Conditions that must all hold; as a tree where they are many, since the depth of an expression is limited. */
export function allOf(conditions: readonly string[]): string {
  if (conditions.length <= 100) return conditions.join(" AND ")
  const middle = conditions.length >> 1
  return `(${allOf(conditions.slice(0, middle))}) AND (${allOf(conditions.slice(middle))})`
}
