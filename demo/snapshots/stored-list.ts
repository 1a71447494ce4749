import { fill, h } from "../dom.ts"
import { formatBytes, formatTime } from "../format.ts"
import type { StoredSnapshot } from "./snapshot-server.ts"

const reasons = {
  "no store": "This server keeps no snapshots. The one that npm start runs does, in a folder on your disk.",
  unreachable: "The server can't be reached.",
}

/** What the server keeps, each to be pulled. */
export class StoredList {
  readonly element = h("ul", { class: "stored" })
  readonly #pull: (name: string) => void
  readonly #buttons: HTMLButtonElement[] = []

  constructor(pull: (name: string) => void) {
    this.#pull = pull
  }

  show(found: readonly StoredSnapshot[] | "no store" | "unreachable"): void {
    this.#buttons.length = 0
    if (typeof found === "string" || found.length === 0) {
      fill(
        this.element,
        h("li", { class: "empty" }, typeof found === "string" ? reasons[found] : "The server has no snapshots yet."),
      )
      return
    }
    fill(this.element, ...found.map((snapshot) => this.#row(snapshot)))
  }

  setBusy(busy: boolean): void {
    for (const button of this.#buttons) button.disabled = busy
  }

  #row({ name, size, savedAt }: StoredSnapshot): HTMLElement {
    const pull = () => this.#pull(name)
    const button = h("button", { type: "button", "aria-label": `Pull ${name}`, onclick: pull }, "Pull")
    this.#buttons.push(button)
    return h(
      "li",
      {},
      h("code", {}, name),
      h("span", { class: "quiet" }, `${formatBytes(size)}, ${formatTime(savedAt)}`),
      button,
    )
  }
}
