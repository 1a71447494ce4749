import type { Beat } from "../../link/heartbeat.ts"
import { SilenceJudge } from "../../link/watchdog.ts"
import { hangUp } from "../hang-up.ts"

const tickMs = 700
/** The worker beats every second. */
const slackMs = 1_600

/**
 * Watches another tab for a silence that only a frozen one has: neither its worker, which may be inside one
 * long function, nor its page, which may be busy too, says a word. `dead` is called once.
 */
export class LeaderWatch {
  readonly #judge = new SilenceJudge(performance.now(), 0, slackMs)
  readonly #timer: ReturnType<typeof setInterval>
  readonly #port: MessagePort

  /**
   * @param port beats of the worker come here.
   * @param askPage asks the page; `hear` is called with its answer.
   */
  constructor(port: MessagePort, askPage: () => void, dead: () => void) {
    this.#port = port
    port.onmessage = (_: MessageEvent<Beat>) => this.hear()
    this.#timer = setInterval(() => {
      const verdict = this.#judge.tick(performance.now())
      if (verdict === "fine") return
      if (verdict === "ask") {
        port.postMessage("alive?")
        askPage()
        return
      }
      this.stop()
      dead()
    }, tickMs)
  }

  hear(): void {
    this.#judge.hear(performance.now(), 0)
  }

  stop(): void {
    clearInterval(this.#timer)
    hangUp(this.#port)
  }
}
