import type { DBSchema } from "idb"
import { remembered } from "../remembered.ts"

/** What a database and its target had in common after the last push. */
export interface Base {
  /** A local copy of what was pushed. */
  readonly copyId: string
  /** Of the source. */
  readonly tip: number
  readonly targetDatabaseId: string
}

interface Schema extends DBSchema {
  bases: { key: [string, string]; value: Base }
}

const store = remembered<Schema>("agentdb-web-bases", (db) => void db.createObjectStore("bases"))

export const readBase = async (databaseId: string, target: string): Promise<Base | undefined> =>
  (await store()).get("bases", [databaseId, target])

export async function writeBase(databaseId: string, target: string, base: Base): Promise<void> {
  await (await store()).put("bases", base, [databaseId, target])
}
