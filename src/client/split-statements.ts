import { tokenAt } from "./tokens.ts"

const triggerHead = /^(EXPLAIN (QUERY PLAN )?)?CREATE (TEMP |TEMPORARY )?TRIGGER $/

/**
 * Splits a script, as a `.sql` file or a migration has it, into its statements, without
 * their closing semicolons and without empty ones. Comments inside a statement stay, those
 * around it go. Each can then be a statement of a batch. Knows triggers, strings, quoted
 * names and comments as SQLite's tokenizer does.
 */
export function splitStatements(text: string): string[] {
  const statements: string[] = []
  /** From the first token of the statement to the end of its last one so far. */
  let start = -1
  let end = -1
  /** The first words, while they may still be those of a CREATE TRIGGER. */
  let head = ""
  let trigger: "none" | "head" | "body" = "none"
  let afterSemicolon = false

  const cut = () => {
    if (start >= 0) statements.push(text.slice(start, end))
    start = -1
    head = ""
    trigger = "none"
  }

  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at)
    if (token.kind === "semicolon") {
      if (trigger !== "body") cut()
      afterSemicolon = true
    } else if (token.kind !== "space" && token.kind !== "comment") {
      if (start < 0) start = at
      end = token.end
      const word = token.kind === "word" ? token.word : "?"
      if (trigger === "none" && head.length < 40) {
        head += `${word} `
        if (triggerHead.test(head)) trigger = "head"
      } else if (trigger === "head" && word === "BEGIN") trigger = "body"
      // The END of a CASE never follows a semicolon; that of the trigger always does.
      else if (trigger === "body" && word === "END" && afterSemicolon) trigger = "none"
      afterSemicolon = false
    }
    at = token.end
  }
  cut()
  return statements
}
