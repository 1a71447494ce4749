import { fill, h, perFrame } from "../dom.ts"
import { formatCount } from "../format.ts"
import { type Cell, cellSize, cellText } from "./cell.ts"

/** Pixels; the stylesheet gives rows the same height. */
const rowHeight = 24
/** Rows drawn above and below what is seen. */
const overscan = 12
/** Cells kept for scrolling. What comes after is counted and let go, so a result of any size stays bounded. */
const keptCells = 100_000
const keptTextUnits = 16_000_000
const shownInCell = 200
const shownInDetail = 4_000

/** Rows as they arrive: only those in sight are in the document. Arrow keys walk the cells. */
export class ResultTable {
  readonly element: HTMLElement
  readonly #scroller = h("div", { class: "rows", tabindex: 0, role: "region", "aria-label": "Result rows" })
  readonly #head = h("thead")
  readonly #body = h("tbody")
  readonly #detail = h("p", { class: "cell-detail", "aria-live": "polite" })
  readonly #notice = h("p", { class: "notice", role: "status", hidden: true })
  readonly #columns = h("colgroup")
  #names: string[] = []
  #rows: Cell[][] = []
  #seen = 0
  #weight = 0
  #active = { row: 0, column: 0 }
  readonly #paint = perFrame(() => this.#draw())

  constructor() {
    const table = h("table", {}, this.#columns, this.#head, this.#body)
    this.#scroller.append(table)
    this.element = h("div", { class: "result", hidden: true }, this.#scroller, this.#notice, this.#detail)
    this.#scroller.addEventListener("scroll", this.#paint)
    this.#scroller.addEventListener("keydown", (event) => this.#key(event))
    this.#body.addEventListener("click", (event) => this.#click(event))
    new ResizeObserver(this.#paint).observe(this.#scroller)
  }

  /** Rows that came, kept or not. */
  get seen(): number {
    return this.#seen
  }

  /** An empty table with these columns; none hides it. */
  begin(names: string[]): void {
    this.#names = names
    this.#rows = []
    this.#seen = 0
    this.#weight = 0
    this.#active = { row: 0, column: 0 }
    this.element.hidden = names.length === 0
    this.#notice.hidden = true
    fill(this.#detail)
    fill(this.#columns)
    fill(
      this.#head,
      h("tr", {}, rowNumberCell("th", "", 0), ...names.map((name) => h("th", { scope: "col", title: name }, name))),
    )
    this.#scroller.scrollTop = 0
    this.#scroller.scrollLeft = 0
    fill(this.#body)
    this.#paint()
  }

  add(rows: Cell[][]): void {
    for (const row of rows) {
      this.#seen++
      if (this.#weight >= 1) continue
      this.#rows.push(row)
      this.#weight += row.length / keptCells
      for (const { value } of row) this.#weight += sizeOf(value) / keptTextUnits
    }
    const left = this.#seen - this.#rows.length
    this.#notice.hidden = left === 0
    if (left > 0) {
      fill(
        this.#notice,
        `Showing the first ${formatCount(this.#rows.length)} rows; ${formatCount(left)} more were counted and let go.`,
      )
    }
    this.#paint()
  }

  #draw(): void {
    if (this.element.hidden) return
    if (this.#columns.childElementCount === 0) this.#layOut()
    const first = Math.max(0, Math.floor(this.#scroller.scrollTop / rowHeight) - overscan)
    const visible = Math.ceil(this.#scroller.clientHeight / rowHeight) + 2 * overscan
    const last = Math.min(this.#rows.length, first + visible)
    const rows: HTMLElement[] = []
    for (let row = first; row < last; row++) rows.push(this.#row(row))
    fill(this.#body, spacer(first), ...rows, spacer(this.#rows.length - last))
  }

  /** Widths from the first rows, then fixed: columns must not jump while one scrolls. */
  #layOut(): void {
    if (this.#rows.length === 0) return
    const widths = this.#names.map((name, column) => {
      const lengths = this.#rows.slice(0, 60).map((row) => cellText(row[column] as Cell, shownInCell).length)
      return Math.min(48, Math.max(6, name.length + 1, ...lengths) + 3)
    })
    const digits = 7
    fill(
      this.#columns,
      ...[digits, ...widths].map((characters) => {
        const column = h("col")
        column.style.width = `${characters}ch`
        return column
      }),
    )
  }

  #row(row: number): HTMLElement {
    const cells = (this.#rows[row] ?? []).map((cell, column) => {
      const active = row === this.#active.row && column === this.#active.column
      return h(
        "td",
        { "data-class": cell.storageClass, "data-column": column, "data-active": active },
        cellText(cell, shownInCell),
      )
    })
    return h("tr", { "data-row": row }, rowNumberCell("td", formatCount(row + 1), row), ...cells)
  }

  #click(event: Event): void {
    const cell = event.target instanceof Element ? event.target.closest("td[data-column]") : null
    const row = cell?.closest("tr")
    if (!(cell instanceof HTMLElement) || !row) return
    this.#activate(Number(row.dataset["row"]), Number(cell.dataset["column"]))
  }

  #key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / rowHeight) - 2)
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-page, 0],
      PageDown: [page, 0],
      Home: [Number.NEGATIVE_INFINITY, 0],
      End: [Number.POSITIVE_INFINITY, 0],
    }
    const move = moves[event.key]
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    this.#activate(this.#active.row + move[0], this.#active.column + move[1])
  }

  #activate(row: number, column: number): void {
    if (this.#rows.length === 0) return
    this.#active = { row: clamp(row, this.#rows.length), column: clamp(column, this.#names.length) }
    const cell = this.#rows[this.#active.row]?.[this.#active.column]
    if (!cell) return
    fill(
      this.#detail,
      h("b", {}, this.#names[this.#active.column] ?? ""),
      h("span", { class: "quiet" }, cellSize(cell)),
      h("code", { class: "value", "data-class": cell.storageClass }, cellText(cell, shownInDetail)),
    )
    this.#reveal(this.#active.row)
    this.#draw()
    this.#body.querySelector("[data-active]")?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }

  /** Brings a row that may not be drawn yet into sight, below the header that stays. */
  #reveal(row: number): void {
    const top = row * rowHeight
    const room = this.#scroller.clientHeight - 2 * rowHeight
    if (top < this.#scroller.scrollTop) this.#scroller.scrollTop = top
    else if (top > this.#scroller.scrollTop + room) this.#scroller.scrollTop = top - room
  }
}

function rowNumberCell(tag: "th" | "td", text: string, row: number): HTMLElement {
  return h(tag, { class: "row-number", "aria-label": tag === "td" ? `Row ${row + 1}` : "Row" }, text)
}

function spacer(rows: number): HTMLElement | undefined {
  if (rows <= 0) return undefined
  const row = h("tr", { "aria-hidden": "true", class: "spacer" })
  row.style.height = `${rows * rowHeight}px`
  return row
}

function sizeOf(value: Cell["value"]): number {
  if (typeof value === "string") return value.length
  return value instanceof Uint8Array ? value.byteLength : 0
}

function clamp(value: number, length: number): number {
  return Math.min(length - 1, Math.max(0, value))
}
