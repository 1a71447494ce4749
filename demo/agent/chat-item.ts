import type { Step } from "./tool-call.ts"

/** The JSON of `chat_item.content`, by `chat_item.type`. */
export type ChatContent =
  | { type: "user"; content: { text: string; told: boolean } }
  | { type: "tool_call"; content: Step }
  | { type: "answer"; content: { text: string } }

export type ChatItem = ChatContent & {
  id: number
  sessionId: number
  /** Counts up over the whole conversation. */
  turn: number
  /** Unix seconds */
  createdAt: number
}

/** A row of `chat_item`, as it is selected everywhere. */
export interface ChatRow {
  id: number
  sessionId: number
  turn: number
  type: ChatItem["type"]
  content: string
  createdAt: number
}

export const chatColumns = "id, session_id AS sessionId, turn, type, content, created_at AS createdAt"

export function itemOf(row: ChatRow): ChatItem {
  const { type, ...rest } = row
  const content: unknown = JSON.parse(row.content)
  // The inspector can write anything here; what has no shape that we know is shown as it is stored.
  const known = typeof content === "object" && content !== null && (type === "tool_call" ? "name" : "text") in content
  return { ...rest, ...(known ? { type, content } : { type: "answer", content: { text: row.content } }) } as ChatItem
}

/** The JSON to store; integers beyond what JSON can carry become text. */
export function jsonOf(content: ChatContent["content"]): string {
  return JSON.stringify(content, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))
}
