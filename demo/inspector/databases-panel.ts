import type { AgentDB, DatabaseInfo } from "agentdb-web"
import { fill, h, perFrame } from "../dom.ts"
import { failureNote } from "../failure.ts"
import { formatExpiry, formatTime } from "../format.ts"
import { saveDump } from "../snapshots/save-dump.ts"
import { ask } from "./ask.ts"

const pageSize = 50
/** Expiry is the service's own doing: nobody is told, so the list looks again this often (ms). */
const refreshEvery = 5_000

interface Options {
  agentdb: AgentDB
  /** The agent's own database, marked in the list. */
  conversationId: string
  onselect(databaseId: string | undefined): void
}

/** The list, with create, dump and delete. Rows are kept from one refresh to the next, so focus stays where it is. */
export class DatabasesPanel {
  readonly #options: Options
  readonly #count = h("span", { class: "quiet" })
  readonly #body = h("tbody")
  readonly #message = h("div", { class: "message", role: "status" })
  readonly #more = h("button", { type: "button", hidden: true }, "Show more")
  readonly #rows = new Map<string, Row>()
  #pages = 1
  #selected: string | undefined
  #listing: Promise<void> | undefined
  readonly #soon = perFrame(() => void this.refresh())

  constructor(heading: Element, body: Element, options: Options) {
    this.#options = options
    heading.append(this.#count, this.#createForm())
    const heads = ["database", "region", "created", "expires", "tip", ""]
    const table = h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)))),
      this.#body,
    )
    this.#more.addEventListener("click", () => {
      this.#pages++
      void this.refresh()
    })
    body.append(this.#message, h("div", { class: "databases" }, table, this.#more))
    setInterval(() => {
      if (!document.hidden) void this.refresh()
    }, refreshEvery)
  }

  /** Reads the list again. Calls that come meanwhile share the one that runs. */
  refresh(): Promise<void> {
    this.#listing ??= this.#list().finally(() => {
      this.#listing = undefined
    })
    return this.#listing
  }

  select(databaseId: string | undefined): void {
    this.#selected = databaseId
    for (const [id, row] of this.#rows) row.setSelected(id === databaseId)
    this.#options.onselect(databaseId)
  }

  async #list(): Promise<void> {
    try {
      const found: DatabaseInfo[] = []
      let pageToken = ""
      for (let page = 0; page < this.#pages; page++) {
        const answer = await this.#options.agentdb.listDatabases({ pageSize, pageToken })
        found.push(...answer.databases)
        pageToken = answer.nextPageToken
        if (pageToken === "") break
      }
      this.#more.hidden = pageToken === ""
      this.#show(found, pageToken !== "")
    } catch (error) {
      fill(this.#message, failureNote(error))
    }
  }

  #show(found: DatabaseInfo[], more: boolean): void {
    fill(this.#count, more ? `the first ${found.length}` : `${found.length}`)
    const ids = new Set(found.map(({ databaseId }) => databaseId))
    for (const [id, row] of this.#rows) {
      if (ids.has(id)) continue
      row.remove()
      this.#rows.delete(id)
    }
    this.#body.querySelector(".empty")?.remove()
    for (const info of found) this.#rowOf(info).update(info)
    if (found.length === 0)
      this.#body.append(h("tr", {}, h("td", { class: "empty", colspan: 6 }, "No databases. Create the first one.")))
    if (this.#selected !== undefined && !ids.has(this.#selected)) this.select(undefined)
  }

  #rowOf(info: DatabaseInfo): Row {
    const known = this.#rows.get(info.databaseId)
    if (known) return known
    const { agentdb, conversationId } = this.#options
    const id = info.databaseId
    const row = new Row(info, id === conversationId, {
      select: () => this.select(id),
      dump: () => void this.#act(`Writing a copy of ${id}…`, () => this.#dump(id)),
      remove: () => void this.#remove(id),
    })
    row.watch(agentdb.watch(id, this.#soon))
    this.#rows.set(id, row)
    this.#body.append(row.element)
    row.setSelected(id === this.#selected)
    return row
  }

  #createForm(): HTMLElement {
    const region = h("input", { name: "region", placeholder: "local", "aria-label": "Region", maxlength: 64, size: 10 })
    const ttl = h("input", {
      name: "ttl",
      type: "number",
      min: 0,
      step: 1,
      placeholder: "never",
      "aria-label": "Time to live in seconds",
    })
    const create = async (event: Event) => {
      event.preventDefault()
      await this.#act("Creating…", async () => {
        const { databaseId } = await this.#options.agentdb.createDatabase({
          ...(region.value === "" ? {} : { region: region.value }),
          ...(ttl.value === "" ? {} : { ttlSeconds: Number(ttl.value) }),
        })
        await this.refresh()
        this.select(databaseId)
        return `Created ${databaseId}.`
      })
    }
    return h(
      "form",
      { class: "bar create", onsubmit: (event) => void create(event) },
      h("label", {}, "region", region),
      h("label", {}, "expires after", ttl, "s"),
      h("button", { type: "submit" }, "Create database"),
    )
  }

  async #dump(id: string): Promise<string> {
    return `Saved ${await saveDump(this.#options.agentdb, id)}.`
  }

  async #remove(id: string): Promise<void> {
    const own =
      id === this.#options.conversationId ? " It holds the agent's memory: the conversation ends with it." : ""
    const consequence = `Its file is erased and every socket on it closes. This cannot be undone.${own}`
    if (!(await ask(`Delete ${id}?`, consequence, "Delete"))) return
    await this.#act(`Deleting ${id}…`, async () => {
      await this.#options.agentdb.deleteDatabase(id)
      await this.refresh()
      return `Deleted ${id}.`
    })
  }

  async #act(busy: string, action: () => Promise<string>): Promise<void> {
    fill(this.#message, h("span", { class: "busy" }, busy))
    try {
      fill(this.#message, await action())
    } catch (error) {
      fill(this.#message, failureNote(error))
    }
  }
}

interface RowActions {
  select(): void
  dump(): void
  remove(): void
}

class Row {
  readonly element: HTMLElement
  readonly #pick: HTMLInputElement
  readonly #expires = h("td", { "data-name": "expires" })
  readonly #tip = h("td", { class: "number", "data-name": "tip" })
  #watch: Disposable | undefined

  constructor(info: DatabaseInfo, own: boolean, actions: RowActions) {
    const id = info.databaseId
    this.#pick = h("input", { type: "radio", name: "database", onchange: actions.select })
    const label = h("label", {}, this.#pick, h("code", {}, id), own && h("span", { class: "tag" }, "agent"))
    const dump = h("button", { type: "button", "aria-label": `Dump ${id}`, onclick: actions.dump }, "Dump")
    const remove = h(
      "button",
      { type: "button", class: "danger", "aria-label": `Delete ${id}`, onclick: actions.remove },
      "Delete",
    )
    this.element = h(
      "tr",
      { "data-database": id },
      h("td", {}, label),
      h("td", { title: info.region, "data-name": "in" }, info.region),
      h("td", { "data-name": "created" }, formatTime(info.createdAt)),
      this.#expires,
      this.#tip,
      h("td", { class: "actions" }, dump, remove),
    )
  }

  update(info: DatabaseInfo): void {
    fill(this.#expires, formatExpiry(info.expiresAt, Date.now() / 1000))
    fill(this.#tip, String(info.tip))
  }

  setSelected(selected: boolean): void {
    this.#pick.checked = selected
    this.element.toggleAttribute("data-selected", selected)
  }

  /** Takes the watch over; it ends with the row. */
  watch(watch: Disposable): void {
    this.#watch = watch
  }

  remove(): void {
    this.#watch?.[Symbol.dispose]()
    this.element.remove()
  }
}
