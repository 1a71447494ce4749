import type { PushRecord } from "agentdb-web/sync"
import { fill, h } from "../dom.ts"
import { formatBytes, formatTime } from "../format.ts"

/** Pushes listed; the newest ones. */
const drawn = 30

interface State {
  readonly word: string
  readonly kind: "done" | "failed" | "open"
  readonly hint: string
}

/** What this browser remembers of its pushes, newest first. */
export class PushHistory {
  readonly element = h("ul", { class: "pushes" })

  /** @param running of the push that this page is at, if any */
  show(records: readonly PushRecord[], running: string | undefined): void {
    const shown = records.slice(0, drawn)
    const rows = shown.map((record, index) =>
      row(record, stateOf(record, index === 0 && record.databaseId === running)),
    )
    fill(this.element, ...(rows.length > 0 ? rows : [h("li", { class: "empty" }, "Nothing has been pushed yet.")]))
  }
}

function stateOf({ state, code, outcomeUnknown }: PushRecord, isRunning: boolean): State {
  if (state === "done") return { word: "pushed", kind: "done", hint: "The server has it whole." }
  if (state === "pushing") {
    return isRunning
      ? { word: "under way", kind: "open", hint: "This page is at it." }
      : {
          word: "cut",
          kind: "open",
          hint: "Its page went, or another tab is at it. Push again to bring it to its end.",
        }
  }
  const hint = outcomeUnknown ? "It may have arrived. Push again to find out." : "The server has what it had before."
  return { word: code ?? "failed", kind: "failed", hint }
}

function row(record: PushRecord, { word, kind, hint }: State): HTMLElement {
  const { databaseId, sink, startedAt, tip, size, sha256 } = record
  const facts = [
    formatTime(startedAt / 1000),
    tip !== undefined && `tip ${tip}`,
    size !== undefined && formatBytes(size),
  ].filter((fact) => fact !== false)
  return h(
    "li",
    { "data-state": kind },
    h("span", { class: "push-state", title: hint }, word),
    h("span", {}, facts.join(", ")),
    h(
      "span",
      { class: "quiet" },
      h("code", {}, databaseId),
      ` by ${sink}`,
      sha256 !== undefined && h("code", { title: `SHA-256 ${sha256}` }, ` ${sha256.slice(0, 12)}`),
    ),
  )
}
