import { sql } from "../client/index.ts"

export const quoteName = (name: string): string => sql.id(name).sql
