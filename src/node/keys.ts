import { AgentDBError } from "../wire/errors.ts"
import type { Keys } from "../wire/jwt.ts"

/**
 * Reads `key:secret,key:secret`; a secret may hold colons, and no commas.
 * @throws Error that says what is wrong and repeats no secret.
 */
export function parseKeys(text: string): Keys {
  const pairs = text.split(",").map((pair, at): [string, string] => {
    const colon = pair.indexOf(":")
    const key = pair.slice(0, colon).trim()
    const secret = pair.slice(colon + 1).trim()
    if (colon < 0 || key === "" || secret === "")
      throw new Error(`--keys: pair ${at + 1} is not of the form key:secret`)
    return [key, secret]
  })
  const keys = Object.fromEntries(pairs)
  if (Object.keys(keys).length < pairs.length) throw new Error("--keys: a key is there twice")
  return keys
}

/** @throws AgentDBError `invalid_argument` */
export function checkKeys(keys: Keys): void {
  const pairs = Object.entries(keys)
  if (pairs.length > 0 && pairs.every(([key, secret]) => key !== "" && typeof secret === "string" && secret !== ""))
    return
  throw new AgentDBError("invalid_argument", "keys: at least one API key with a secret that is not empty")
}
