import { AgentDBError, type Value } from "../../client/index.ts"

/** A row that the target has changed since the last push, and the source too. */
export interface Conflict {
  /** Empty where it is not about one row. */
  readonly table: string
  /**
   * What the source did; `schema`: the target's schema is another one; `foreign key action`: an ON DELETE or
   * ON UPDATE reached rows of the target that the source does not know.
   */
  readonly kind: "insert" | "update" | "delete" | "schema" | "foreign key action"
  /** Values of the primary key, or the rowid. */
  readonly key: readonly Value[]
}

const named = 10

/** The target has changes of its own that these would overwrite. Nothing was applied. Its code is `aborted`. */
export class PushConflict extends AgentDBError {
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    const names = conflicts
      .slice(0, named)
      .map(({ table, kind, key }) => (table ? `${kind} of ${table} (${key.map(String).join(", ")})` : kind))
    const more = conflicts.length > named ? `, and ${conflicts.length - named} more` : ""
    super("aborted", `the target changed since the last push: ${names.join("; ")}${more}`)
    this.conflicts = conflicts
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof AgentDBError && "conflicts" in value
  }
}
