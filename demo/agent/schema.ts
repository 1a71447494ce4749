/** Raised with every change below; kept in the file as `PRAGMA user_version`. */
export const schemaVersion = 1

/**
 * Everything the agent knows. `told` is what the user stated (no questions, no commands):
 * the full-text index reads its text from there and keeps none of its own.
 */
export const schema = `
CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  started_at INTEGER NOT NULL
) STRICT;

CREATE TABLE chat_item (
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES session(id),
  turn INTEGER NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('user', 'tool_call', 'answer')),
  content TEXT NOT NULL CHECK (json_valid(content)),
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE fact (
  key TEXT PRIMARY KEY COLLATE NOCASE,
  value TEXT NOT NULL,
  item_id INTEGER NOT NULL REFERENCES chat_item(id),
  told_at INTEGER NOT NULL
) STRICT;

CREATE TABLE note (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE agent_state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE VIEW told AS
  SELECT id, session_id, created_at, json_extract(content, '$.text') AS text
  FROM chat_item
  WHERE type = 'user' AND json_extract(content, '$.told');

CREATE VIRTUAL TABLE told_index USING fts5(
  text, content = 'told', content_rowid = 'id', tokenize = 'porter unicode61'
);

CREATE TRIGGER chat_item_told AFTER INSERT ON chat_item
WHEN new.type = 'user' AND json_extract(new.content, '$.told')
BEGIN
  INSERT INTO told_index (rowid, text) VALUES (new.id, json_extract(new.content, '$.text'));
END;

CREATE TRIGGER chat_item_untold AFTER DELETE ON chat_item
WHEN old.type = 'user' AND json_extract(old.content, '$.told')
BEGIN
  INSERT INTO told_index (told_index, rowid, text)
  VALUES ('delete', old.id, json_extract(old.content, '$.text'));
END;
`
