import { tokenAt } from "./tokens.ts"

/**
 * True only for SQL that surely can't write, so that it may run twice. A guess on the
 * safe side: a PRAGMA is not among it, nor a WITH that has a writing word in it.
 */
export function isReadOnly(sql: string): boolean {
  let first = ""
  for (let at = 0; at < sql.length; ) {
    const token = tokenAt(sql, at)
    at = token.end
    if (token.kind === "space" || token.kind === "comment" || token.kind === "semicolon") continue
    const word = token.kind === "word" ? token.word : ""
    if (!first) {
      if (word !== "WITH") return word === "SELECT" || word === "VALUES" || word === "EXPLAIN"
      first = word
    } else if (writing.has(word)) return false
  }
  return first === "WITH"
}

const writing = new Set(["INSERT", "REPLACE", "UPDATE", "DELETE"])
