/** What the end of a statement and its kind depend on; everything else is `other`. */
export type Token =
  | { kind: "space" | "comment" | "semicolon" | "other"; end: number }
  /** In upper case. */
  | { kind: "word"; end: number; word: string }

const space = /[ \t\n\v\f\r\ufeff]+/y
// SQLite's identifier characters: every one beyond ASCII is one.
const word = /[\w$\x80-\uffff]+/y
// With the tail in parentheses that Tcl's names have.
const variable = /[$@:#](?:[\w$\x80-\uffff]|::)+(?:\([^\s)]*\)?)?/y

/** The token at `at`, by the rules of SQLite's tokenizer. An unclosed quote or comment runs to the end. */
export function tokenAt(text: string, at: number): Token {
  const char = text[at] as string
  switch (char) {
    case ";":
      return { kind: "semicolon", end: at + 1 }
    case "'":
    case '"':
    case "`":
      return { kind: "other", end: quoteEnd(text, at, char) }
    case "[":
      return { kind: "other", end: endOf(text, "]", at + 1) }
    case "-":
      if (text[at + 1] === "-") return { kind: "comment", end: endOf(text, "\n", at + 2) }
      break
    case "/":
      // At the very end it is a slash and a star.
      if (text[at + 1] === "*" && at + 2 < text.length) return { kind: "comment", end: endOf(text, "*/", at + 2) }
      break
  }
  const spaceEnd = match(space, text, at)
  if (spaceEnd > at) return { kind: "space", end: spaceEnd }
  const variableEnd = match(variable, text, at)
  if (variableEnd > at) return { kind: "other", end: variableEnd }
  const wordEnd = match(word, text, at)
  if (wordEnd > at) return { kind: "word", end: wordEnd, word: text.slice(at, wordEnd).toUpperCase() }
  return { kind: "other", end: at + 1 }
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

function endOf(text: string, closing: string, from: number): number {
  const at = text.indexOf(closing, from)
  return at < 0 ? text.length : at + closing.length
}

function quoteEnd(text: string, at: number, quote: string): number {
  let end = endOf(text, quote, at + 1)
  while (text[end] === quote) end = endOf(text, quote, end + 1)
  return end
}
