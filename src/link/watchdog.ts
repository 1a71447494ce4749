import type { Beat } from "./heartbeat.ts"

const tickMs = 1_000
/** Beyond what the worker announced. */
const defaultSlackMs = 5_000
/** Each tick gives a thawed worker, and this page's own queue, a turn of the event loop. */
const patienceTicks = 3
/** A script may take long to come over a slow network. */
const loadingMs = 60_000

/**
 * Judges a worker by its silence. A timer proves little: it may come late because
 * this page was throttled, frozen or busy, while beats lie unread in its queue. So a
 * silence that is too long only starts the questions, and a verdict needs several of
 * them, each a tick apart, to go unanswered.
 */
export class SilenceJudge {
  #heardAt: number
  #allowMs: number
  #unanswered = 0
  readonly #slackMs: number

  /**
   * @param now milliseconds of any steady clock, as everywhere here.
   * @param slackMs the silence beyond what was announced that needs no question.
   */
  constructor(now: number, allowMs: number, slackMs = defaultSlackMs) {
    this.#heardAt = now
    this.#allowMs = allowMs
    this.#slackMs = slackMs
  }

  hear(now: number, allowMs: number): void {
    this.#heardAt = now
    this.#allowMs = allowMs
    this.#unanswered = 0
  }

  tick(now: number): "fine" | "ask" | "dead" {
    if (now - this.#heardAt <= this.#allowMs + this.#slackMs) return "fine"
    if (this.#unanswered >= patienceTicks) return "dead"
    this.#unanswered++
    return "ask"
  }
}

/**
 * Watches the worker at the other end of `port`, which is expected to leave at most
 * `allowMs` between two beats until it says otherwise. One of the callbacks is called,
 * once: `silent` for a worker that never said a word. The function returned ends the watch.
 */
export function watchOver(port: MessagePort, allowMs: number, on: { silent(): void; dead(): void }): () => void {
  const judge = new SilenceJudge(performance.now(), Math.max(allowMs, loadingMs))
  let heard = false
  const stop = () => {
    clearInterval(timer)
    port.close()
  }
  const timer = setInterval(() => {
    const verdict = judge.tick(performance.now())
    if (verdict === "ask") port.postMessage("alive?")
    if (verdict !== "dead") return
    stop()
    if (heard) on.dead()
    else on.silent()
  }, tickMs)
  port.onmessage = (event: MessageEvent<Beat>) => {
    heard = true
    judge.hear(performance.now(), event.data.allowMs)
  }
  return stop
}
