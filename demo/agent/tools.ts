import type { Transaction } from "agentdb-web/client"
import { calculate, ToolError } from "./calculator.ts"
import type { Fact, Step, ToolCall, ToolName, ToolOutputs } from "./tool-call.ts"

/** What a tool may know of the turn that called it. */
export interface TurnContext {
  tx: Transaction
  /** The user's item of this turn. */
  itemId: number
  /** Unix seconds */
  now: number
}

type Tools = {
  [N in ToolName]: (args: Extract<ToolCall, { name: N }>["args"], turn: TurnContext) => Promise<ToolOutputs[N]>
}

const countMessages =
  "SELECT count(*) FILTER (WHERE type = 'user') AS user, count(*) FILTER (WHERE type = 'tool_call') AS toolCalls, " +
  "count(*) FILTER (WHERE type = 'answer') AS answers, count(DISTINCT session_id) AS sessions FROM chat_item"

const tools: Tools = {
  async remember({ key, value }, { tx, itemId, now }) {
    const before = await tx.query<Fact>("SELECT key, value FROM fact WHERE key = ?", [key]).first()
    await tx.exec(
      "INSERT INTO fact (key, value, item_id, told_at) VALUES (?1, ?2, ?3, ?4) " +
        "ON CONFLICT (key) DO UPDATE SET value = ?2, item_id = ?3, told_at = ?4",
      [key, value, itemId, now],
    )
    return { replaced: before?.value ?? null }
  },

  async recall({ key }, { tx }) {
    const fact = await tx.query<Fact>("SELECT key, value FROM fact WHERE key = ?", [key]).first()
    return { value: fact?.value ?? null }
  },

  async list_facts(_, { tx }) {
    return { facts: await tx.query<Fact>("SELECT key, value FROM fact ORDER BY told_at, key LIMIT 100").all() }
  },

  async forget({ key }, { tx }) {
    const { rowsAffected } = await tx.exec("DELETE FROM fact WHERE key = ?", [key])
    return { forgotten: rowsAffected > 0 }
  },

  async search({ words }, { tx, itemId }) {
    if (words.length === 0) return { memories: [] }
    // Quoted, so that no word is taken for an operator of the full-text language.
    const match = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ")
    const memories = await tx
      .query<{ text: string; sessionId: number; createdAt: number }>(
        "SELECT told.text, told.session_id AS sessionId, told.created_at AS createdAt " +
          "FROM told_index JOIN told ON told.id = told_index.rowid " +
          "WHERE told_index MATCH ? AND told.id <> ? ORDER BY told_index.rank, told.id DESC LIMIT 3",
        [match, itemId],
      )
      .all()
    return { memories }
  },

  async calculate({ expression }) {
    return { value: calculate(expression) }
  },

  async add_note({ text }, { tx, now }) {
    const { lastInsertId } = await tx.exec("INSERT INTO note (text, created_at) VALUES (?, ?)", [text, now])
    return { number: Number(lastInsertId) }
  },

  async list_notes(_, { tx }) {
    const rows = await tx
      .query<{ id: number; text: string; done: number }>("SELECT id, text, done FROM note ORDER BY done, id LIMIT 100")
      .all()
    return { notes: rows.map((row) => ({ ...row, done: row.done !== 0 })) }
  },

  async finish_note({ number }, { tx }) {
    const note = await tx.query<{ text: string }>("SELECT text FROM note WHERE id = ? AND NOT done", [number]).first()
    if (note) await tx.exec("UPDATE note SET done = 1 WHERE id = ?", [number])
    return { text: note?.text ?? null }
  },

  async time(_, { now }) {
    const date = new Date(now * 1000)
    const spoken = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "short" }).format(date)
    return { iso: date.toISOString(), spoken }
  },

  async count_messages(_, { tx }) {
    const row = await tx
      .query<{ user: number; toolCalls: number; answers: number; sessions: number }>(countMessages)
      .first()
    if (!row) throw new ToolError("the count came back empty")
    return { sql: countMessages, ...row }
  },
}

/** Runs a call inside the turn's transaction. A ToolError is an outcome; anything else fails the turn. */
export async function runTool(call: ToolCall, turn: TurnContext): Promise<Step> {
  // The table has one entry a name, which TypeScript can't carry over from the union of calls.
  const run = tools[call.name] as (args: ToolCall["args"], turn: TurnContext) => Promise<unknown>
  try {
    return { ...call, output: await run(call.args, turn) } as Step
  } catch (error) {
    if (error instanceof ToolError) return { ...call, error: error.message }
    throw error
  }
}
