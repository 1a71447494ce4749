import { fill, h, perFrame } from "../dom.ts"
import { countOf, formatBytes, formatCount } from "../format.ts"
import type { FrameEntry, OpenRequest } from "./frame-entry.ts"
import type { FrameLog } from "./frame-log.ts"

/** Frames in the document; the newest ones. */
const drawn = 150
/** Open requests listed above them. */
const drawnOpen = 12

/** The frames as they pass, newest last, and the requests that are open with what credit they have left. */
export class FramesPanel {
  readonly #log: FrameLog
  readonly #count = h("span", { class: "quiet" })
  readonly #open = h("div", { class: "open-requests" })
  readonly #body = h("tbody")
  readonly #scroller: HTMLElement
  /** False while someone has scrolled back to read. */
  #following = true
  readonly #pings = h("input", { type: "checkbox" })

  constructor(heading: Element, body: Element, log: FrameLog) {
    this.#log = log
    const clear = h("button", { type: "button", onclick: () => log.clear() }, "Clear")
    const controls = h("span", { class: "controls" }, h("label", {}, this.#pings, "pings"), clear)
    heading.append(this.#count, controls)
    const heads = ["#", "ms", "socket", "", "request", "frame", "size", "credit", "what it says"]
    this.#scroller = h(
      "div",
      { class: "frames", tabindex: 0, role: "region", "aria-label": "Frames" },
      h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)))), this.#body),
    )
    body.append(this.#open, this.#scroller)
    const paint = perFrame(() => this.#draw())
    log.onchange = paint
    this.#pings.addEventListener("change", paint)
    this.#scroller.addEventListener("scroll", () => {
      const below = this.#scroller.scrollHeight - this.#scroller.scrollTop - this.#scroller.clientHeight
      this.#following = below < 40
    })
    new ResizeObserver(() => this.#toEnd()).observe(this.#scroller)
    paint()
  }

  #draw(): void {
    const wanted = this.#log.entries.filter(({ kind }) => this.#pings.checked || (kind !== "Ping" && kind !== "Pong"))
    const shown = wanted.slice(-drawn)
    const { total } = this.#log
    fill(
      this.#count,
      total > shown.length
        ? `the last ${formatCount(shown.length)} of ${countOf(total, "frame")}`
        : countOf(total, "frame"),
    )
    fill(this.#body, ...(shown.length > 0 ? shown.map(row) : [emptyRow()]))
    this.#drawOpen()
    this.#toEnd()
  }

  #toEnd(): void {
    if (this.#following) this.#scroller.scrollTop = this.#scroller.scrollHeight
  }

  #drawOpen(): void {
    const requests: HTMLElement[] = []
    for (const { name, open } of this.#log.taps) {
      for (const [id, request] of open) requests.push(openRequest(name, id, request))
    }
    this.#open.hidden = requests.length === 0
    fill(this.#open, ...requests.slice(0, drawnOpen))
  }
}

function openRequest(socket: string, id: number, { kind, credit, batches, rows }: OpenRequest): HTMLElement {
  const taken = `${formatCount(batches)} ${batches === 1 ? "batch" : "batches"}, ${countOf(rows, "row")}`
  return h(
    "span",
    { class: "request" },
    h("b", {}, `${kind} ${id}`),
    ` on ${socket}: credit ${formatCount(credit)}, ${taken}`,
  )
}

function row(entry: FrameEntry): HTMLElement {
  const { number, at, socket, direction, requestId, kind, bytes, credit, detail } = entry
  const arrow = h(
    "td",
    { class: "direction", title: direction === "out" ? "sent" : "received" },
    direction === "out" ? "→" : "←",
  )
  return h(
    "tr",
    { "data-direction": direction, "data-kind": kind },
    h("td", { class: "number" }, formatCount(number)),
    h("td", { class: "number" }, formatCount(Math.round(at))),
    h("td", { class: "socket" }, socket),
    arrow,
    h("td", { class: "number" }, requestId ?? ""),
    h("td", { class: "kind" }, kind),
    h("td", { class: "number" }, bytes > 0 ? formatBytes(bytes) : ""),
    h("td", { class: "number credit" }, credit === undefined ? "" : formatCount(credit)),
    h("td", { class: "detail", title: detail }, detail),
  )
}

function emptyRow(): HTMLElement {
  return h(
    "tr",
    {},
    h(
      "td",
      { colspan: 9, class: "empty" },
      "No frames. Talk to the agent or run a statement, and what they say on the wire appears here.",
    ),
  )
}
