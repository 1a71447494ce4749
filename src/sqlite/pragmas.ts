/** Answers questions about the schema, the file or the build; a setting among them can be read and not set. */
const readable = new Set([
  "application_id",
  "collation_list",
  "compile_options",
  "data_version",
  "encoding",
  "foreign_key_check",
  "foreign_key_list",
  "freelist_count",
  "function_list",
  "index_info",
  "index_list",
  "index_xinfo",
  "integrity_check",
  "optimize",
  "page_count",
  "page_size",
  "quick_check",
  "table_info",
  "table_list",
  "table_xinfo",
  "user_version",
])

/** Those of the readable ones that are settings, so that an argument would change something. */
const settings = new Set([
  "application_id",
  "data_version",
  "encoding",
  "freelist_count",
  "page_count",
  "page_size",
  "user_version",
])

const writable = new Set(["application_id", "user_version"])

/** Local to a connection: they mean something within one transaction only. */
const local = new Set(["defer_foreign_keys", "recursive_triggers"])

export type PragmaVerdict = "allowed" | "local" | "read-only" | "unknown"

/** @param name in lower case. */
export function judgePragma(name: string, hasArgument: boolean): PragmaVerdict {
  if (local.has(name)) return "local"
  if (!readable.has(name)) return "unknown"
  return hasArgument && settings.has(name) && !writable.has(name) ? "read-only" : "allowed"
}
