import { sql } from "../client/index.ts"

export const quoteName = (name: string): string => sql.id(name).sql

export const quoteNames = (names: readonly string[]): string => names.map(quoteName).join(", ")
