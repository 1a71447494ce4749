import type { Token } from "../client/index.ts"
import { AgentDBError } from "../wire/errors.ts"
import { type Keys, mintToken, verifyToken } from "../wire/jwt.ts"

const unixNow = () => Math.floor(Date.now() / 1_000)

/** @throws AgentDBError `invalid_argument` if there is no key. */
export function firstKey(keys: Keys): string {
  const [key] = Object.keys(keys)
  if (key === undefined) throw new AgentDBError("invalid_argument", "keys names no API key")
  return key
}

/** Tokens for the first of the keys of the moment. */
export function mintFor(keys: () => Keys): () => string {
  return () => {
    const all = keys()
    const key = firstKey(all)
    return mintToken(key, all[key] as string, unixNow())
  }
}

/**
 * The API key whose project a handle works in: its token's, so that databases are
 * made where its connections look for them. A token that is no good says so at its Hello.
 */
export async function projectOf(token: Token, keys: Keys): Promise<string> {
  try {
    return verifyToken(typeof token === "string" ? token : await token(), keys, unixNow())
  } catch {
    return firstKey(keys)
  }
}
