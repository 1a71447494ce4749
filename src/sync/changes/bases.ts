import { type DBSchema, type IDBPDatabase, openDB } from "idb"
import { AgentDBError } from "../../client/index.ts"

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

let opening: Promise<IDBPDatabase<Schema>> | undefined

/** @throws AgentDBError `failed_precondition` where there is no IndexedDB. */
function store(): Promise<IDBPDatabase<Schema>> {
  opening ??= openDB<Schema>("agentdb-web-bases", 1, {
    upgrade: (db) => void db.createObjectStore("bases"),
    terminated: () => {
      opening = undefined
    },
  }).catch((error: unknown) => {
    opening = undefined
    throw new AgentDBError(
      "failed_precondition",
      `what was pushed is remembered in IndexedDB, which can't be opened: ${error}`,
    )
  })
  return opening
}

export const readBase = async (databaseId: string, target: string): Promise<Base | undefined> =>
  (await store()).get("bases", [databaseId, target])

export async function writeBase(databaseId: string, target: string, base: Base): Promise<void> {
  await (await store()).put("bases", base, [databaseId, target])
}
