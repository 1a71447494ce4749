import { h } from "../dom.ts"
import { formatTime } from "../format.ts"
import type { ChatItem } from "./chat-item.ts"
import type { Step } from "./tool-call.ts"

/** One stored item of the chat. */
export function chatItem(item: ChatItem): HTMLElement {
  switch (item.type) {
    case "user":
      return bubble("user", "You", String(item.content.text), item.createdAt)
    case "answer":
      return bubble("answer", "Agent", String(item.content.text), item.createdAt)
    case "tool_call":
      return toolCall(item.content)
  }
}

/** What the user said, while its turn has not been committed. */
export function pendingItem(text: string): HTMLElement {
  const item = bubble("user", "You", text, Date.now() / 1000)
  item.dataset["pending"] = ""
  return item
}

/** The line that closes a turn: the commit it became. */
export function turnMark(tip: number): HTMLElement {
  return h("p", { class: "turn-mark" }, `committed at tip ${tip}`)
}

export function sessionMark(sessionId: number, startedAt: number, current: boolean): HTMLElement {
  const when = current ? "now" : formatTime(startedAt)
  return h("p", { class: "session-mark" }, h("span", {}, `Session ${sessionId}, ${when}`))
}

function bubble(kind: string, who: string, text: string, seconds: number): HTMLElement {
  return h(
    "article",
    { class: `item ${kind}`, "data-type": kind },
    h("header", {}, h("b", { class: "who" }, who), h("time", {}, formatTime(seconds))),
    h("p", { class: "text" }, text),
  )
}

function toolCall(step: Step): HTMLElement {
  const failed = "error" in step
  const args = Object.entries(step.args ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return h(
    "details",
    { class: "item tool", "data-type": "tool_call", "data-failed": failed },
    h(
      "summary",
      {},
      h("code", { class: "call" }, `${step.name}(${args.join(", ")})`),
      h("span", { class: "outcome" }, failed ? "failed" : "ok"),
    ),
    h("pre", {}, failed ? step.error : JSON.stringify(step.output, null, 2)),
  )
}
