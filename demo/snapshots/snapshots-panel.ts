import type { AgentDB } from "agentdb-web"
import { type PushProgress, type PushRecord, pullSnapshot, pushHistory, pushSnapshot } from "agentdb-web/sync"
import { fill, h, perFrame } from "../dom.ts"
import { countOf, formatTime } from "../format.ts"
import { chosenOf, onDrop } from "./dropped-files.ts"
import { PushHistory } from "./push-history.ts"
import { saveDump } from "./save-dump.ts"
import { SnapshotServer } from "./snapshot-server.ts"
import { StoredList } from "./stored-list.ts"
import { TaskView } from "./task-view.ts"

interface Options {
  agentdb: AgentDB
  /** Told of databases that were made here. */
  onmade(databaseId: string): Promise<void>
}

const phases: Readonly<Record<PushProgress["phase"], string>> = {
  waiting: "Waiting for the network",
  dumping: "Writing a copy",
  uploading: "Uploading",
  verifying: "Verifying",
}

/** The way out of the browser and back: download, restore, push, pull, and what was pushed. */
export class SnapshotsPanel {
  readonly #options: Options
  readonly #server = new SnapshotServer()
  readonly #target = h("span", { class: "quiet" }, "no database selected")
  readonly #since = h("span", { class: "quiet" })
  readonly #download = h("button", { type: "button", disabled: true }, "Download")
  readonly #push = h("button", { type: "button", class: "primary", disabled: true }, "Push to the server")
  readonly #choose = h("button", { type: "button" }, "Choose a file")
  readonly #task = new TaskView((busy) => this.#setBusy(busy))
  readonly #history = new PushHistory()
  readonly #stored = new StoredList((name) => void this.#pullNow(name))
  readonly #soon = perFrame(() => void this.#showSince())
  #databaseId: string | undefined
  #watch: Disposable | undefined
  #busy = false
  #pushing: string | undefined
  #hasStore = false
  #records: readonly PushRecord[] = []

  constructor(heading: Element, body: Element, options: Options) {
    this.#options = options
    heading.append(this.#target)
    const onSelected = (act: (databaseId: string) => Promise<void>) => () => {
      if (this.#databaseId !== undefined) void act(this.#databaseId)
    }
    this.#download.addEventListener(
      "click",
      onSelected((id) => this.#downloadNow(id)),
    )
    this.#push.addEventListener(
      "click",
      onSelected((id) => this.#pushNow(id, false)),
    )
    body.append(
      h(
        "div",
        { class: "snapshots" },
        h("div", { class: "bar" }, this.#push, this.#download, this.#since),
        this.#dropZone(),
        this.#task.element,
        h("h3", {}, "Pushes"),
        this.#history.element,
        h("h3", {}, "On the server"),
        this.#stored.element,
      ),
    )
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) void this.refresh()
    })
  }

  select(databaseId: string | undefined): void {
    this.#databaseId = databaseId
    this.#watch?.[Symbol.dispose]()
    this.#watch = databaseId === undefined ? undefined : this.#options.agentdb.watch(databaseId, this.#soon)
    fill(this.#target, databaseId ?? "no database selected")
    this.#enable()
    void this.#showSince()
  }

  /** Reads the history and the server's list again. */
  async refresh(): Promise<void> {
    this.#records = await pushHistory().catch(() => [])
    this.#history.show(this.#records, this.#pushing)
    const stored = await this.#server.list()
    this.#hasStore = stored !== "no store"
    this.#stored.show(stored)
    this.#enable()
    await this.#showSince()
  }

  #dropZone(): HTMLElement {
    const input = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "SQLite file" })
    this.#choose.addEventListener("click", () => input.click())
    input.addEventListener("change", () => {
      void this.#restoreNow([...(input.files ?? [])])
      input.value = ""
    })
    const zone = h(
      "div",
      { class: "drop" },
      h("span", {}, "Drop a SQLite file here to restore it, or"),
      this.#choose,
      input,
    )
    onDrop(zone, (files) => void this.#restoreNow(files))
    return zone
  }

  #downloadNow(databaseId: string): Promise<void> {
    const { agentdb } = this.#options
    return this.#task.run({
      label: "Writing a copy",
      cancels: false,
      run: async () => ({ text: `Saved ${await saveDump(agentdb, databaseId)}.` }),
    })
  }

  #restoreNow(files: readonly File[]): Promise<void> {
    return this.#task.run({
      label: "Restoring",
      run: async (signal, step) => {
        const { file, wal } = chosenOf(files)
        const label = `Restoring ${file.name}`
        const { databaseId, warnings } = await this.#options.agentdb.restoreDatabase(file, {
          ...(wal && { wal }),
          signal,
          onProgress: ({ bytes, totalBytes }) =>
            step({ label: bytes < totalBytes ? label : `Checking ${file.name}`, doneBytes: bytes, totalBytes }),
        })
        await this.#options.onmade(databaseId)
        return { text: [`Restored ${file.name} as ${databaseId}.`, ...warnings].join(" ") }
      },
    })
  }

  async #pushNow(databaseId: string, force: boolean): Promise<void> {
    const { agentdb } = this.#options
    const again = (label: string) =>
      h("button", { type: "button", onclick: () => void this.#pushNow(databaseId, true) }, label)
    this.#pushing = databaseId
    await this.#task.run({
      label: "Pushing",
      run: async (signal, step) => {
        const { pushed, tip } = await pushSnapshot({
          ...{ from: agentdb, databaseId, to: this.#server.sinkOf(databaseId), signal, force },
          onProgress: ({ phase, doneBytes, totalBytes }) => {
            step({ label: phases[phase], doneBytes, totalBytes })
            if (phase === "uploading" && doneBytes === 0) void this.#showHistory()
          },
        })
        if (pushed) return { text: `Pushed ${databaseId} at tip ${tip}.` }
        return {
          text: `Unchanged: the server has ${databaseId} at tip ${tip}.`,
          actions: [again("Push it all the same")],
        }
      },
      onFailure: (code) => {
        if (code !== "failed_precondition") return undefined
        const text = `The server's ${databaseId}.sqlite is not from a push of this browser, so it was not replaced.`
        return { text, actions: [again("Overwrite it")] }
      },
    })
    this.#pushing = undefined
    await this.refresh()
  }

  #pullNow(name: string): Promise<void> {
    return this.#task.run({
      label: `Pulling ${name}`,
      run: async (signal, step) => {
        const { databaseId } = await pullSnapshot({
          ...{ url: this.#server.urlOf(name), into: this.#options.agentdb, signal },
          onProgress: ({ phase, bytes, totalBytes }) =>
            step({ label: phase === "download" ? `Pulling ${name}` : "Restoring", doneBytes: bytes, totalBytes }),
        })
        await this.#options.onmade(databaseId)
        return { text: `Pulled ${name} as ${databaseId}.` }
      },
    })
  }

  async #showHistory(): Promise<void> {
    this.#records = await pushHistory().catch(() => [])
    this.#history.show(this.#records, this.#pushing)
  }

  /** How far the selected database has gone on since its last push. */
  async #showSince(): Promise<void> {
    const databaseId = this.#databaseId
    // One that is being deleted has nothing to tell.
    const info =
      databaseId === undefined ? undefined : await this.#options.agentdb.getDatabase(databaseId).catch(() => undefined)
    if (databaseId !== this.#databaseId) return
    const last = this.#records.find((record) => record.databaseId === databaseId && record.state === "done")
    const none = "this server keeps no snapshots"
    fill(this.#since, this.#hasStore ? info && sinceText(info.tip, last) : none)
  }

  #setBusy(busy: boolean): void {
    this.#busy = busy
    this.#choose.disabled = busy
    this.#stored.setBusy(busy)
    this.#enable()
  }

  #enable(): void {
    const without = this.#busy || this.#databaseId === undefined
    this.#download.disabled = without
    this.#push.disabled = without || !this.#hasStore
  }
}

function sinceText(tip: number, last: PushRecord | undefined): string {
  if (last?.tip === undefined) return "not pushed yet"
  if (last.tip === tip) return `up to date: pushed ${formatTime((last.endedAt ?? last.startedAt) / 1000)}`
  return `${countOf(tip - last.tip, "commit")} since the last push`
}
