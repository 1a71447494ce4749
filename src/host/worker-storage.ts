import { MemoryStorage } from "../storage/memory.ts"
import { OpfsStorage } from "../storage/opfs.ts"
import { probeStorage } from "../storage/probe.ts"
import type { Storage } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { StartOptions } from "./control.ts"

/**
 * The storage asked for. `auto` falls back to memory only where OPFS can't be had at all: files that
 * can't be opened just now are an error, never an empty service.
 * @throws AgentDBError `failed_precondition` if `opfs` was asked for and is not there; the message says what is missing.
 */
export async function chooseStorage({
  name,
  storage,
  opfsProblem,
}: Pick<StartOptions, "name" | "storage" | "opfsProblem">): Promise<{ storage: Storage; reason: string | undefined }> {
  if (storage === "memory") return { storage: new MemoryStorage(), reason: undefined }
  const problem = opfsProblem ?? (await probeStorage(name)).reason
  if (problem === undefined) return { storage: await OpfsStorage.open(name), reason: undefined }
  if (storage === "auto") return { storage: new MemoryStorage(), reason: problem }
  throw new AgentDBError("failed_precondition", `storage "opfs" is not available: ${problem}`)
}
