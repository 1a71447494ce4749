import { type RowStream, splitStatements } from "agentdb-web/client"
import { fill, h, perFrame } from "../dom.ts"
import { failureNote, failureOf } from "../failure.ts"
import { countOf, formatMs } from "../format.ts"
import { cellsOf } from "./cell.ts"
import { examples } from "./examples.ts"
import { ResultTable } from "./result-table.ts"
import type { SelectedSocket } from "./selected-socket.ts"

/** The SQL box: one run at a time, streamed into the table, stopped by its button or Escape. */
export class SqlPanel {
  readonly #socket: SelectedSocket
  readonly #target = h("span", { class: "quiet" }, "no database selected")
  readonly #text = h("textarea", {
    class: "sql",
    rows: 3,
    spellcheck: "false",
    autocapitalize: "off",
    "aria-label": "SQL",
    placeholder: "SELECT …   (Ctrl+Enter runs, Escape cancels)",
  })
  readonly #run = h("button", { type: "submit", class: "primary", disabled: true }, "Run")
  readonly #cancel = h("button", { type: "button", disabled: true }, "Cancel")
  readonly #outcome = h("div", { class: "run-outcome", role: "status" })
  readonly #table = new ResultTable()
  #databaseId: string | undefined
  #stream: RowStream<unknown> | undefined
  #running = false
  #cancelled = false

  constructor(heading: Element, body: Element, socket: SelectedSocket) {
    this.#socket = socket
    heading.append(this.#target)
    const buttons = h("div", { class: "bar" }, this.#run, this.#cancel, this.#examples(), this.#outcome)
    const form = h("form", { class: "sql-form", onsubmit: (event) => this.#submit(event) }, this.#text, buttons)
    this.#cancel.addEventListener("click", () => this.#stop())
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#submit(event)
      if (event.key === "Escape") this.#stop()
    })
    body.append(form, this.#table.element, h("p", { class: "empty" }, "Rows appear here as they arrive."))
  }

  select(databaseId: string | undefined): void {
    this.#databaseId = databaseId
    fill(this.#target, databaseId ? `on ${databaseId}` : "no database selected")
    this.#run.disabled = this.#running || databaseId === undefined
  }

  #examples(): HTMLElement {
    const options = examples.map(({ name }, index) => h("option", { value: index }, name))
    const select = h(
      "select",
      { "aria-label": "Example statements" },
      h("option", { value: "" }, "Examples…"),
      ...options,
    )
    select.addEventListener("change", () => {
      const example = examples[Number(select.value)]
      if (example && select.value !== "") this.#text.value = example.sql
      select.value = ""
      this.#text.focus()
      this.#text.setSelectionRange(0, 0)
    })
    return select
  }

  #submit(event: Event): void {
    event.preventDefault()
    if (!this.#running && this.#databaseId !== undefined) void this.#runAll(this.#databaseId)
  }

  #stop(): void {
    if (!this.#running) return
    this.#cancelled = true
    this.#stream?.cancel()
    fill(this.#outcome, "Cancelling…")
  }

  /** Statements run one after another, each on its own; the table shows the last one that has columns. */
  async #runAll(databaseId: string): Promise<void> {
    const statements = splitStatements(this.#text.value)
    if (statements.length === 0) {
      fill(this.#outcome, "There is no statement to run.")
      return
    }
    this.#setRunning(true)
    this.#table.begin([])
    const started = performance.now()
    let at = 0
    try {
      const connection = await this.#socket.connection(databaseId)
      let last = ""
      for (; at < statements.length && !this.#cancelled; at++) {
        const stream = connection.query(statements[at] as string)
        this.#stream = stream
        last = await this.#show(stream, started)
      }
      if (this.#cancelled) fill(this.#outcome, `Cancelled after ${formatMs(performance.now() - started)}.`)
      else fill(this.#outcome, summary(statements.length, last, performance.now() - started))
    } catch (error) {
      this.#showFailure(error, statements.length > 1 ? at : undefined, performance.now() - started)
    } finally {
      this.#stream = undefined
      this.#setRunning(false)
    }
  }

  async #show(stream: RowStream<unknown>, started: number): Promise<string> {
    const progress = perFrame(() => {
      if (this.#stream !== stream || this.#cancelled) return
      fill(this.#outcome, `${countOf(this.#table.seen, "row")} so far, ${formatMs(performance.now() - started)}`)
    })
    const columns = await stream.columns()
    if (columns.length > 0) this.#table.begin(columns)
    for await (const batch of stream.batches()) {
      this.#table.add(cellsOf(batch))
      progress()
    }
    const { tip, totalRows } = await stream.done
    return columns.length > 0 ? `${countOf(totalRows, "row")} at tip ${tip}` : `no columns, tip ${tip}`
  }

  #showFailure(error: unknown, statement: number | undefined, ms: number): void {
    const { code } = failureOf(error)
    if (code === "disconnected" || code === "closed" || code === "not_found") void this.#socket.close()
    if (code === "canceled") {
      fill(this.#outcome, `Cancelled after ${countOf(this.#table.seen, "row")}, ${formatMs(ms)}.`)
      return
    }
    const rows = this.#table.seen
    const where = [
      statement === undefined ? "" : `statement ${statement + 1}`,
      rows > 0 ? `after ${countOf(rows, "row")}` : "",
    ]
    const context = where.filter((part) => part !== "").join(", ")
    fill(
      this.#outcome,
      failureNote(error, h("span", { class: "quiet" }, [context, formatMs(ms)].filter(Boolean).join(", "))),
    )
  }

  #setRunning(running: boolean): void {
    this.#running = running
    this.#cancelled = false
    this.#run.disabled = running || this.#databaseId === undefined
    this.#cancel.disabled = !running
  }
}

function summary(statements: number, last: string, ms: number): string {
  const all = statements > 1 ? `${countOf(statements, "statement")}; the last: ` : ""
  return `${all}${last}, ${formatMs(ms)}`
}
