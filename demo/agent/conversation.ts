import type { AgentDB } from "agentdb-web"
import { type Connection, splitStatements, type Transaction } from "agentdb-web/client"
import { failureOf } from "../failure.ts"
import { decide, isTold } from "./brain.ts"
import { type ChatContent, type ChatItem, type ChatRow, chatColumns, itemOf, jsonOf } from "./chat-item.ts"
import { schema, schemaVersion } from "./schema.ts"
import type { Step } from "./tool-call.ts"
import { runTool } from "./tools.ts"

const rememberedId = "agentdb-demo.conversation"

/** How the conversation reaches its database. */
export type ConnectTo = (databaseId: string) => Promise<Connection>

/** The agent's database: its sessions, what was said, and what it keeps. One a page load. */
export class Conversation {
  readonly databaseId: string
  readonly sessionId: number
  readonly connection: Connection
  /** False if this page load made the database. */
  readonly reopened: boolean

  private constructor(connection: Connection, sessionId: number, reopened: boolean) {
    this.connection = connection
    this.databaseId = connection.databaseId
    this.sessionId = sessionId
    this.reopened = reopened
  }

  /** Opens the conversation of this browser; makes a new one where it is gone. */
  static async open(agentdb: AgentDB, connectTo: ConnectTo): Promise<Conversation> {
    const known = localStorage.getItem(rememberedId)
    const reopened = known !== null && (await exists(agentdb, known))
    const databaseId = reopened ? known : (await agentdb.createDatabase({ region: "local" })).databaseId
    localStorage.setItem(rememberedId, databaseId)
    const connection = await connectTo(databaseId)
    await migrate(connection)
    const { lastInsertId } = await connection.exec("INSERT INTO session (started_at) VALUES (?)", [unixNow()])
    return new Conversation(connection, Number(lastInsertId), reopened)
  }

  /** The newest `limit` items before `beforeId`, oldest first. */
  async items(limit: number, beforeId = Number.MAX_SAFE_INTEGER): Promise<ChatItem[]> {
    const rows = await this.connection
      .query<ChatRow>(`SELECT ${chatColumns} FROM chat_item WHERE id < ? ORDER BY id DESC LIMIT ?`, [beforeId, limit])
      .all()
    return rows.reverse().map(itemOf)
  }

  async counts(): Promise<{ items: number; facts: number; notes: number }> {
    const row = await this.connection
      .query<{ items: number; facts: number; notes: number }>(
        "SELECT (SELECT count(*) FROM chat_item) AS items, (SELECT count(*) FROM fact) AS facts, " +
          "(SELECT count(*) FROM note WHERE NOT done) AS notes",
      )
      .first()
    return row ?? { items: 0, facts: 0, notes: 0 }
  }

  /**
   * One turn, all or nothing: what the user said, each tool call and the answer are one transaction.
   * @returns the items that were stored; once it resolves they are durable
   */
  turn(text: string): Promise<ChatItem[]> {
    return this.connection.transaction(async (tx) => {
      const now = unixNow()
      const last = await tx.query<{ turn: number }>("SELECT ifnull(max(turn), 0) AS turn FROM chat_item").first()
      const turn = (last?.turn ?? 0) + 1
      const items: ChatItem[] = []
      const store = async (content: ChatContent) => {
        const id = await insertItem(tx, this.sessionId, turn, content, now)
        items.push({ id, sessionId: this.sessionId, turn, createdAt: now, ...content })
        return id
      }

      const itemId = await store({ type: "user", content: { text, told: isTold(text) } })
      const steps: Step[] = []
      for (;;) {
        const decision = decide(text, steps)
        if ("answer" in decision) {
          await store({ type: "answer", content: { text: decision.answer } })
          return items
        }
        const step = await runTool(decision.tool, { tx, itemId, now })
        steps.push(step)
        await store({ type: "tool_call", content: step })
        await setState(tx, "last_tool", step.name)
      }
    })
  }
}

/** Lets the next load start afresh. */
export function forgetConversation(): void {
  localStorage.removeItem(rememberedId)
}

export async function insertItem(
  tx: Transaction,
  sessionId: number,
  turn: number,
  { type, content }: ChatContent,
  now: number,
): Promise<number> {
  const { lastInsertId } = await tx.exec(
    "INSERT INTO chat_item (session_id, turn, type, content, created_at) VALUES (?, ?, ?, ?, ?)",
    [sessionId, turn, type, jsonOf(content), now],
  )
  return Number(lastInsertId)
}

export async function setState(db: Pick<Transaction, "exec">, key: string, value: string): Promise<void> {
  await db.exec("INSERT INTO agent_state (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2", [
    key,
    value,
  ])
}

export async function getState(db: Pick<Transaction, "query">, key: string): Promise<string | undefined> {
  const row = await db.query<{ value: string }>("SELECT value FROM agent_state WHERE key = ?", [key]).first()
  return row?.value
}

export function unixNow(): number {
  return Math.floor(Date.now() / 1000)
}

async function exists(agentdb: AgentDB, databaseId: string): Promise<boolean> {
  try {
    await agentdb.getDatabase(databaseId)
    return true
  } catch (error) {
    if (failureOf(error).code === "not_found") return false
    throw error
  }
}

async function migrate(connection: Connection): Promise<void> {
  const row = await connection.query<{ user_version: number }>("PRAGMA user_version").first()
  const version = row?.user_version ?? 0
  if (version === schemaVersion) return
  if (version !== 0) throw new Error(`the conversation is of version ${version}; this page knows ${schemaVersion}`)
  await connection.batch([...splitStatements(schema), `PRAGMA user_version = ${schemaVersion}`])
}
