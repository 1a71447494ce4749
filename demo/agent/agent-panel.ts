import type { AgentDB } from "agentdb-web"
import { fill, h, perFrame } from "../dom.ts"
import { failureNote, failureOf } from "../failure.ts"
import { countOf } from "../format.ts"
import type { ChatItem } from "./chat-item.ts"
import { chatItem, pendingItem, sessionMark, turnMark } from "./chat-view.ts"
import { type Conversation, forgetConversation } from "./conversation.ts"

/** Items read at once; older ones come on request. */
const pageSize = 60

const suggestions = [
  "My name is Ada",
  "I take my tea with oat milk",
  "What did I say about tea?",
  "What is 12 * (3 + 4)?",
  "Todo: water the plants",
  "How many messages are there?",
]

/** The chat. Built empty, so that opening and failing have a place to be shown; `start` gives it its conversation. */
export class AgentPanel {
  readonly #facts = h("span", { class: "quiet" })
  readonly #log = h("div", { class: "chat", role: "log", "aria-label": "Conversation", tabindex: 0 })
  readonly #input = h("textarea", {
    rows: 1,
    placeholder: "Say something to the agent",
    "aria-label": "Message to the agent",
    autocomplete: "off",
    disabled: true,
  })
  readonly #send = h("button", { class: "primary", type: "submit", disabled: true }, "Send")
  #conversation: Conversation | undefined
  #oldest: ChatItem | undefined
  #busy = true

  constructor(heading: Element, body: Element) {
    heading.append(this.#facts)
    const form = h("form", { class: "composer", onsubmit: (event) => this.#submit(event) }, this.#input, this.#send)
    this.#input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) this.#submit(event)
    })
    this.#input.addEventListener("input", () => this.#grow())
    body.append(this.#log, form)
  }

  /** Shows what the start is busy with. */
  progress(step: string): void {
    fill(this.#log, h("p", { class: "empty busy", role: "status" }, step))
  }

  /** Shows why there is no conversation. */
  fail(error: unknown, ...actions: HTMLElement[]): void {
    fill(this.#log, failureNote(error, ...actions))
  }

  async start(agentdb: AgentDB, conversation: Conversation, boots: number): Promise<void> {
    this.#conversation = conversation
    const items = await conversation.items(pageSize)
    this.#oldest = items[0]
    fill(this.#log, ...this.#transcript(items), sessionMark(conversation.sessionId, 0, true))
    this.#log.append(items.length === 0 ? this.#welcome() : h("p", { class: "quiet note" }, welcomeBack(boots)))
    if (items.length === pageSize) this.#log.prepend(this.#earlier())
    const refresh = perFrame(() => void this.#refresh())
    agentdb.watch(conversation.databaseId, refresh)
    refresh()
    this.#input.disabled = false
    this.#setBusy(false)
    this.#toEnd()
  }

  #submit(event: Event): void {
    event.preventDefault()
    const text = this.#input.value.trim()
    if (text === "" || this.#busy) return
    this.#input.value = ""
    this.#grow()
    void this.#turn(text)
  }

  async #turn(text: string): Promise<void> {
    const conversation = this.#conversation
    if (!conversation || this.#busy) return
    const pending = pendingItem(text)
    this.#log.querySelector(".welcome")?.remove()
    this.#log.append(pending)
    this.#toEnd()
    this.#setBusy(true)
    try {
      const items = await conversation.turn(text)
      pending.replaceWith(...items.map(chatItem), turnMark(conversation.connection.tip))
    } catch (error) {
      pending.dataset["failed"] = ""
      pending.after(this.#turnFailure(error, text, pending))
    } finally {
      this.#setBusy(false)
      this.#toEnd()
    }
  }

  /** Nothing of a failed turn was stored, so saying it again is safe, unless the outcome is unknown. */
  #turnFailure(error: unknown, text: string, pending: HTMLElement): HTMLElement {
    const { code } = failureOf(error)
    if (code === "not_found" || code === "closed") {
      return failureNote(error, h("button", { type: "button", onclick: startAfresh }, "Start a new conversation"))
    }
    const again = h("button", { type: "button" }, code === "disconnected" ? "Say it again anyway" : "Say it again")
    const note = failureNote(error, again)
    again.addEventListener("click", () => {
      note.remove()
      pending.remove()
      void this.#turn(text)
    })
    return note
  }

  #transcript(items: ChatItem[]): HTMLElement[] {
    const nodes: HTMLElement[] = []
    let session: number | undefined
    for (const item of items) {
      if (item.sessionId !== session) nodes.push(sessionMark(item.sessionId, item.createdAt, false))
      session = item.sessionId
      nodes.push(chatItem(item))
    }
    return nodes
  }

  #earlier(): HTMLElement {
    const button = h("button", { type: "button", class: "earlier" }, "Show earlier")
    button.addEventListener("click", async () => {
      if (!this.#conversation || !this.#oldest) return
      button.disabled = true
      try {
        const items = await this.#conversation.items(pageSize, this.#oldest.id)
        this.#oldest = items[0]
        const bottom = this.#log.scrollHeight - this.#log.scrollTop
        button.replaceWith(...(items.length === pageSize ? [this.#earlier()] : []), ...this.#transcript(items))
        this.#log.scrollTop = this.#log.scrollHeight - bottom
      } catch (error) {
        button.replaceWith(failureNote(error))
      }
    })
    return button
  }

  #welcome(): HTMLElement {
    const chips = suggestions.map((text) => h("button", { type: "button", onclick: () => void this.#turn(text) }, text))
    return h(
      "div",
      { class: "welcome" },
      h(
        "p",
        {},
        "Nothing has been said yet. What you tell this agent is kept in a database in this browser, and it remembers after a reload, with no network.",
      ),
      h("div", { class: "chips" }, ...chips),
    )
  }

  async #refresh(): Promise<void> {
    if (!this.#conversation) return
    try {
      const { items, facts, notes } = await this.#conversation.counts()
      const parts = [countOf(items, "item"), countOf(facts, "fact"), countOf(notes, "open note")]
      fill(this.#facts, parts.join(", "))
    } catch (error) {
      fill(this.#facts, failureOf(error).code)
    }
  }

  /** The field stays open, for writing the next message meanwhile. */
  #setBusy(busy: boolean): void {
    this.#busy = busy
    this.#send.disabled = busy
  }

  #grow(): void {
    this.#input.rows = Math.min(6, this.#input.value.split("\n").length)
  }

  #toEnd(): void {
    this.#log.scrollTop = this.#log.scrollHeight
  }
}

function welcomeBack(boots: number): string {
  return `The agent is back, for the ${ordinal(boots)} time. What was said before is still here: ask about it.`
}

function ordinal(n: number): string {
  const suffix = { one: "st", two: "nd", few: "rd", other: "th", zero: "th", many: "th" }
  return `${n}${suffix[new Intl.PluralRules("en", { type: "ordinal" }).select(n)]}`
}

function startAfresh(): void {
  forgetConversation()
  location.reload()
}
