/** What the SQL box offers to start from. */
export const examples: readonly { name: string; sql: string }[] = [
  { name: "Tables", sql: "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name" },
  { name: "The chat, newest first", sql: "SELECT id, session_id, type, content FROM chat_item ORDER BY id DESC" },
  {
    name: "Full-text search",
    sql: "SELECT rowid, snippet(told_index, 0, '[', ']', '…', 8) AS found, rank\nFROM told_index WHERE told_index MATCH 'name OR tea'\nORDER BY rank",
  },
  { name: "What the agent keeps", sql: "SELECT * FROM agent_state" },
  {
    name: "Every kind of value",
    sql: "SELECT 9007199254740993 AS big, 2.0 AS real, 1e999 AS infinite, NULL AS missing, 'NULL' AS word,\n  x'00ff' AS bytes, '<b>not bold</b>' AS markup, 'a' || char(0) || 'b' AS zero",
  },
  {
    name: "100,000 rows",
    sql: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000)\nSELECT x, x * x AS square, 'row ' || x AS name FROM c",
  },
  {
    name: "Runs until cancelled",
    sql: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)\nSELECT count(*) FROM c",
  },
  { name: "An error", sql: "SELECT * FROM no_such_table" },
]
