import { AgentDBError } from "../wire/errors.ts"

/** The base-57 alphabet of shortuuid: no 0, 1, I, O or l. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
const length = 12
/** Bytes from here on would favour the alphabet's beginning. */
const fair = 256 - (256 % alphabet.length)

/** `DB_` and 12 random characters. */
export function newDatabaseId(): string {
  let id = "DB_"
  while (id.length < 3 + length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      if (byte < fair && id.length < 3 + length) id += alphabet[byte % alphabet.length]
    }
  }
  return id
}

/** @throws AgentDBError `invalid_argument` for what cannot be an id at all; any other unknown id is just not found. */
export function checkDatabaseId(id: unknown): asserts id is string {
  if (typeof id !== "string" || id.length === 0 || id.length > 128) {
    throw new AgentDBError("invalid_argument", "database_id must have 1 to 128 characters")
  }
}

/** Never repeats the id: the caller knows it, and nobody else should. */
export function notFound(): AgentDBError {
  return new AgentDBError("not_found", "no such database")
}
