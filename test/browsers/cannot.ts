import { test } from "@playwright/test"

/** Ends the test as skipped, with the reason, where this way of driving a browser cannot do what the test needs. */
export function cannot(driver: string, what: string): never {
  const reason = `${driver}: ${what}`
  test.skip(true, reason)
  throw new Error(reason)
}
