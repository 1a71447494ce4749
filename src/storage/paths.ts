import { AgentDBError } from "../wire/errors.ts"

/** File systems take 255 bytes a name; the rest is for what is put around it. */
const longestSegment = 200

const idPattern = /^DB_[2-9A-HJ-NP-Za-km-z]{12}$/
const plain = /^[a-z0-9-]$/

/** True for an id that this service could have made: `DB_` and 12 characters of the base-57 alphabet. */
export function isDatabaseId(id: string): boolean {
  return idPattern.test(id)
}

/**
 * Any string as the name of a folder or file. Letters, digits and `-` stay; every other byte is `_xx`, capitals
 * too, so that two names never meet on a file system that folds case or normalises Unicode. The empty one is `_`.
 * @throws AgentDBError `invalid_argument` if the name would be too long.
 */
export function encodeSegment(text: string): string {
  let segment = ""
  for (const byte of new TextEncoder().encode(text)) {
    const char = String.fromCharCode(byte)
    segment += plain.test(char) ? char : `_${byte.toString(16).padStart(2, "0")}`
  }
  if (segment.length > longestSegment)
    throw new AgentDBError("invalid_argument", `name is too long: ${text.slice(0, 40)}...`)
  return segment || "_"
}

/** The reverse of `encodeSegment`; undefined for a name that it never makes. */
export function decodeSegment(segment: string): string | undefined {
  if (segment === "_") return ""
  if (!/^(?:[a-z0-9-]|_[0-9a-f]{2})+$/.test(segment)) return undefined
  const bytes = [...segment.matchAll(/_([0-9a-f]{2})|./g)].map(([char, hex]) =>
    hex === undefined ? char.charCodeAt(0) : Number.parseInt(hex, 16),
  )
  const text = new TextDecoder().decode(Uint8Array.from(bytes))
  return encodeSegment(text) === segment ? text : undefined
}

/** SQLite's name of a database file. */
export function databasePath(project: string, id: string): string {
  return `/${encodeSegment(project)}/${checkId(id)}`
}

/** @throws AgentDBError `not_found` for an id that was not made here: it never becomes a path. */
export function checkId(id: string): string {
  if (!isDatabaseId(id)) throw databaseNotFound(id)
  return id
}

export function databaseNotFound(id: string): AgentDBError {
  return new AgentDBError("not_found", `database ${id.slice(0, 128)} not found`)
}
