import { type DBSchema, type IDBPDatabase, type OpenDBCallbacks, openDB } from "idb"
import { AgentDBError } from "../client/index.ts"

/**
 * An IndexedDB of this origin, opened when it is asked for the first time, and again after it was lost.
 * @param upgrade makes its stores
 * @returns rejects with AgentDBError `failed_precondition` where there is no IndexedDB
 */
export function remembered<Schema extends DBSchema>(
  name: string,
  upgrade: NonNullable<OpenDBCallbacks<Schema>["upgrade"]>,
): () => Promise<IDBPDatabase<Schema>> {
  let opening: Promise<IDBPDatabase<Schema>> | undefined
  const forget = () => {
    opening = undefined
  }
  return () => {
    opening ??= openDB<Schema>(name, 1, { upgrade, terminated: forget }).catch((error: unknown) => {
      forget()
      const message = `pushes are remembered in IndexedDB, which can't be opened: ${error}`
      throw new AgentDBError("failed_precondition", message)
    })
    return opening
  }
}
