import { AgentDBError } from "../wire/errors.ts"

/** @param what of a sentence: what is gone, with its verb. */
export function erased(what: string, cause?: unknown): AgentDBError {
  return new AgentDBError("data_loss", `${what} erased from outside, as by clearing site data`, { cause })
}

export function allErased(): AgentDBError {
  const { code, message } = erased("the stored files of all databases were")
  return new AgentDBError(code, `${message}; reload the page to begin anew`)
}
