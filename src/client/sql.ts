import { type Param, Real } from "../wire/values.ts"
import type { Statement } from "./types.ts"

const brand = Symbol.for("agentdb-web.Sql")

/** A piece of SQL with the parameters of its placeholders. */
class Sql implements Statement {
  readonly sql: string
  readonly params: readonly Param[]

  constructor(text: string, params: readonly Param[]) {
    this.sql = text
    this.params = params
    Object.defineProperty(this, brand, { value: true })
  }
}

/** What a template may hold: a parameter, or SQL made by `sql`. */
export type SqlPart = Param | SqlStatement

/** A Statement whose `params` are there for sure. */
export type SqlStatement = Required<Statement>

interface SqlTag {
  /** A statement whose values are parameters. Statements inside are inlined with theirs. */
  (text: TemplateStringsArray, ...parts: SqlPart[]): SqlStatement
  /** A name, quoted; several are joined by dots. @throws TypeError for U+0000, which no name can have. */
  id(...names: [string, ...string[]]): SqlStatement
  /**
   * A list of parameters with commas between. An empty one is empty text: `x IN ()` is
   * valid in SQLite and false, and `x NOT IN ()` true, also where x is NULL.
   */
  list(items: Iterable<SqlPart>): SqlStatement
}

export const sql: SqlTag = Object.assign((text: TemplateStringsArray, ...parts: SqlPart[]) => join(text, parts), {
  id: (...names: [string, ...string[]]) => new Sql(names.map(quote).join("."), []),
  list: (items: Iterable<SqlPart>) => {
    const parts = [...items]
    return join(["", ...parts.map((_, i) => (i < parts.length - 1 ? ", " : ""))], parts)
  },
})

function join(text: readonly string[], parts: readonly SqlPart[]): Sql {
  const params: Param[] = []
  let out = text[0] ?? ""
  parts.forEach((part, i) => {
    const next = text[i + 1] ?? ""
    if (isSql(part)) {
      out += part.sql
      params.push(...part.params)
    } else {
      // A digit behind a placeholder would number it.
      out += /^\d/.test(next) ? "? " : "?"
      params.push(part)
    }
    out += next
  })
  return new Sql(out, params)
}

function isSql(part: SqlPart): part is SqlStatement {
  return typeof part === "object" && part !== null && !(part instanceof Real) && brand in part
}

function quote(name: string): string {
  if (typeof name !== "string" || name.includes("\0")) throw new TypeError("sql.id: expected a name without U+0000")
  return `"${name.replaceAll('"', '""')}"`
}
