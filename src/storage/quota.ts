/** Whether a file or a folder did not get the room that it needs. */
export function isQuotaExceeded(error: unknown): boolean {
  return error instanceof Error && error.name === "QuotaExceededError"
}
