import { fill, h, perFrame } from "../dom.ts"
import { failureNote, failureOf } from "../failure.ts"
import { formatBytes } from "../format.ts"

export interface Step {
  readonly label: string
  readonly doneBytes?: number
  /** 0 and undefined: not known. */
  readonly totalBytes?: number | undefined
}

/** What a task says at its end: a sentence, and what may be done about it. */
export interface Outcome {
  readonly text: string
  readonly actions?: readonly HTMLElement[]
}

export interface Task {
  /** What it does, before it tells more. */
  readonly label: string
  /** Whether it heeds the signal; the default. */
  readonly cancels?: boolean
  run(signal: AbortSignal, step: (step: Step) => void): Promise<Outcome>
  /** What to say of an error of that code in its place, and what may be done about it. */
  onFailure?(code: string): Outcome | undefined
}

/** One task at a time: its progress, its cancel button, and how it ended. */
export class TaskView {
  readonly element = h("div", { class: "task" })
  readonly #label = h("span")
  readonly #bytes = h("span", { class: "quiet" })
  readonly #bar = h("progress", { max: 1 })
  readonly #cancel = h("button", { type: "button" }, "Cancel")
  readonly #running: HTMLElement
  readonly #end = h("div", { class: "task-end", role: "status" })
  readonly #onBusy: (busy: boolean) => void
  #busy = false

  constructor(onBusy: (busy: boolean) => void) {
    this.#onBusy = onBusy
    this.#running = h(
      "div",
      { class: "task-running", hidden: true },
      h("div", { class: "bar" }, this.#label, this.#bytes, this.#cancel),
      this.#bar,
    )
    this.element.append(this.#running, this.#end)
  }

  async run(task: Task): Promise<void> {
    if (this.#busy) return
    const controller = new AbortController()
    const cancel = () => {
      this.#cancel.disabled = true
      controller.abort()
    }
    let now: Step = { label: task.label }
    const paint = perFrame(() => this.#show(now))
    this.#show(now)
    fill(this.#end)
    this.#cancel.disabled = false
    this.#cancel.hidden = task.cancels === false
    this.#cancel.addEventListener("click", cancel)
    this.#setBusy(true)
    this.element.scrollIntoView({ block: "nearest" })
    try {
      const { text, actions = [] } = await task.run(controller.signal, (step) => {
        now = step
        paint()
      })
      fill(this.#end, h("p", { class: "bar" }, text, ...actions))
    } catch (error) {
      const { code } = failureOf(error)
      if (controller.signal.aborted && code === "canceled")
        fill(this.#end, h("p", {}, "Canceled. Nothing has changed."))
      else this.#fail(error, task.onFailure?.(code))
    } finally {
      this.#cancel.removeEventListener("click", cancel)
      this.#setBusy(false)
      this.element.scrollIntoView({ block: "nearest" })
    }
  }

  #fail(error: unknown, { text, actions = [] }: Partial<Outcome> = {}): void {
    const { code, message } = failureOf(error)
    fill(this.#end, failureNote({ code, message: text ?? message }, ...actions))
  }

  #show({ label, doneBytes = 0, totalBytes = 0 }: Step): void {
    fill(this.#label, label)
    this.#bar.setAttribute("aria-label", label)
    if (totalBytes > 0) {
      this.#bar.value = doneBytes / totalBytes
      fill(this.#bytes, `${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`)
    } else {
      this.#bar.removeAttribute("value")
      fill(this.#bytes, doneBytes > 0 ? formatBytes(doneBytes) : "")
    }
  }

  #setBusy(busy: boolean): void {
    this.#busy = busy
    this.#running.hidden = !busy
    this.#onBusy(busy)
  }
}
