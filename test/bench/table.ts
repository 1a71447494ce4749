import type { Peer, Scalar } from "./peer.ts"

type Dialect = Peer["dialect"]

/** The same columns in all peers. */
export const columns = (dialect: Dialect) =>
  dialect === "sqlite"
    ? "(id INTEGER PRIMARY KEY, role TEXT, content TEXT, score REAL, tokens INTEGER, ts INTEGER, meta TEXT, emb BLOB)"
    : "(id SERIAL PRIMARY KEY, role TEXT, content TEXT, score DOUBLE PRECISION, tokens INTEGER, ts BIGINT, meta TEXT, emb BYTEA)"

export const insert = "INSERT INTO messages(role, content, score, tokens, ts, meta, emb) VALUES(?, ?, ?, ?, ?, ?, ?)"

const words = "the agent remembers what was said, looks it up again and answers with it; "

/** About 120 characters, 2% of the rows with some outside ASCII. */
const content = (i: number) => `message ${i}${i % 50 === 0 ? " – déjà vu" : ""}: ${words}${words}`.slice(0, 120)

export function message(i: number): Scalar[] {
  return [
    i % 2 ? "user" : "assistant",
    content(i),
    i / 7,
    i % 400,
    1_760_000_000_000 + i,
    i % 3 ? null : `{"i":${i}}`,
    i % 10 ? null : new Uint8Array(64).fill(i & 255),
  ]
}

/** Fills `table` with `count` rows like `message`'s, made by the engine itself. */
export function fill(dialect: Dialect, table: string, count: number): string {
  const lite = dialect === "sqlite"
  const numbers = lite
    ? `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${count})`
    : `WITH n(i) AS (SELECT generate_series(1, ${count}))`
  const text = `substr('message ' || i || CASE WHEN i % 50 = 0 THEN ' – déjà vu' ELSE '' END || ': ${words}${words}', 1, 120)`
  const blob = lite ? "randomblob(64)" : "decode(repeat('ab', 64), 'hex')"
  return `INSERT INTO ${table}(role, content, score, tokens, ts, meta, emb) ${numbers}
    SELECT CASE WHEN i % 2 = 1 THEN 'user' ELSE 'assistant' END, ${text}, i / 7.0, i % 400, 1760000000000 + i,
      CASE WHEN i % 3 = 0 THEN '{"i":' || i || '}' END, CASE WHEN i % 10 = 0 THEN ${blob} END FROM n`
}

export const scalarColumns = "(a INTEGER PRIMARY KEY, b INTEGER, c REAL, d INTEGER)"

/** Four scalars a row. */
export const fillScalars = (count: number) =>
  `INSERT INTO scalars WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${count})
   SELECT i, i % 1000, i / 8.0, i * 1000003 FROM n`
