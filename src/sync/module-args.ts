/** What `CREATE VIRTUAL TABLE name USING module(args)` says. */
export interface ModuleCall {
  /** In lower case. */
  readonly module: string
  /** As written, trimmed. */
  readonly args: readonly string[]
}

const token =
  /\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$)|"(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^\]]*\]|[\w$\u0080-\uffff]+|./guy

/** Reads the text that SQLite keeps of a virtual table; undefined if it is not such a text. */
export function parseModuleCall(sql: string): ModuleCall | undefined {
  const tokens = sql.match(token) ?? []
  const isBlank = (text: string) => /^(\s|--|\/\*)/.test(text)
  let depth = 0
  const args: string[] = []
  let arg = ""
  let head: string[] = []
  for (const text of tokens) {
    if (depth === 0) {
      if (text === "(") depth++
      else if (!isBlank(text)) head.push(text)
      continue
    }
    if (text === "(") depth++
    if (text === ")") depth--
    if (depth === 0 || (depth === 1 && text === ",")) {
      args.push(arg.trim())
      arg = ""
    } else arg += text
  }
  if (head.at(-1) === ";") head = head.slice(0, -1)
  const using = head.findLastIndex((text) => /^using$/i.test(text))
  const module = head[using + 1]
  if (using < 0 || module === undefined || !/^virtual$/i.test(head[1] ?? "")) return undefined
  return { module: unquote(module).toLowerCase(), args: args.filter((text) => text !== "") }
}

/** The options (`name = value`) of an FTS5 table, by lower-case name. */
export function fts5Options(args: readonly string[]): Map<string, string> {
  const options = new Map<string, string>()
  for (const arg of args) {
    const option = /^(\w+)\s*=\s*([\s\S]*)$/.exec(arg)
    if (option) options.set((option[1] as string).toLowerCase(), unquote((option[2] as string).trim()))
  }
  return options
}

function unquote(text: string): string {
  const quote = text[0] ?? ""
  if (quote === "[" && text.endsWith("]")) return text.slice(1, -1)
  if (!`"'\``.includes(quote) || quote === "" || text.length < 2 || !text.endsWith(quote)) return text
  return text.slice(1, -1).replaceAll(quote + quote, quote)
}
