import { MemoryStorage } from "../storage/memory.ts"
import { OpfsStorage } from "../storage/opfs.ts"
import { probeStorage } from "../storage/probe.ts"
import type { Storage } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Started, StartOptions } from "./control.ts"

interface Chosen extends Pick<Started, "identity" | "reason"> {
  readonly storage: Storage
}

const inMemory = (reason?: string): Chosen => ({ storage: new MemoryStorage(), identity: undefined, reason })

/**
 * The storage asked for. `auto` falls back to memory only where OPFS can't be had at all: files that
 * can't be opened just now are an error, never an empty service.
 * @throws AgentDBError `failed_precondition` if `opfs` was asked for and is not there; the message says what is missing.
 * `data_loss` if the storage that has to be there is gone.
 */
export async function chooseStorage({
  name,
  storage,
  opfsProblem,
  identity,
}: Pick<StartOptions, "name" | "storage" | "opfsProblem" | "identity">): Promise<Chosen> {
  const isOpfs = storage === "opfs" || identity !== undefined
  if (storage === "memory" && !isOpfs) return inMemory()
  const problem = opfsProblem ?? (await probeStorage(name)).reason
  if (problem === undefined) {
    const opfs = await OpfsStorage.open(name, { identity })
    return { storage: opfs, identity: opfs.identity, reason: undefined }
  }
  if (!isOpfs) return inMemory(problem)
  throw new AgentDBError("failed_precondition", `storage "opfs" is not available: ${problem}`)
}
