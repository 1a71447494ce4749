import { isQuotaExceeded } from "../../storage/quota.ts"
import { AgentDBError } from "../../wire/errors.ts"
import { Rc } from "../constants.ts"

/** The result code for a failed access: out of space is never an I/O error, which would look like damage. */
export function ioResult(error: unknown, otherwise: number): number {
  if (error instanceof AgentDBError) return error.code === "SQLITE_FULL" ? Rc.FULL : otherwise
  return isQuotaExceeded(error) ? Rc.FULL : otherwise
}
