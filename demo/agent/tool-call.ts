/** What the brain may ask for. The names are the ones shown in the chat. */
export type ToolCall =
  | { name: "remember"; args: { key: string; value: string } }
  | { name: "recall"; args: { key: string } }
  | { name: "list_facts"; args: Record<string, never> }
  | { name: "forget"; args: { key: string } }
  | { name: "search"; args: { words: string[] } }
  | { name: "calculate"; args: { expression: string } }
  | { name: "add_note"; args: { text: string } }
  | { name: "list_notes"; args: Record<string, never> }
  | { name: "finish_note"; args: { number: number } }
  | { name: "time"; args: Record<string, never> }
  | { name: "count_messages"; args: Record<string, never> }

export type ToolName = ToolCall["name"]

export interface Fact {
  key: string
  value: string
}

export interface Note {
  id: number
  text: string
  done: boolean
}

export interface Memory {
  text: string
  sessionId: number
  /** Unix seconds */
  createdAt: number
}

/** What each tool answers, as it is stored in the chat. */
export interface ToolOutputs {
  remember: { replaced: string | null }
  recall: { value: string | null }
  list_facts: { facts: Fact[] }
  forget: { forgotten: boolean }
  search: { memories: Memory[] }
  calculate: { value: number }
  add_note: { number: number }
  list_notes: { notes: Note[] }
  finish_note: { text: string | null }
  time: { iso: string; spoken: string }
  count_messages: { sql: string; user: number; toolCalls: number; answers: number; sessions: number }
}

/** A call with what came of it; stored in the chat as it is. */
export type Step = DoneStep | (ToolCall & { error: string })

export type DoneStep = {
  [N in ToolName]: Extract<ToolCall, { name: N }> & { output: ToolOutputs[N] }
}[ToolName]
