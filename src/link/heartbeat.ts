/** A sign of life; the next one may be `allowMs` and the watchdog's slack away. */
export interface Beat {
  readonly alive: true
  readonly allowMs: number
}

/**
 * The worker's side of the watchdog: beats from the event loop every second, at
 * once when asked, and from within a running statement through `busy`.
 */
export class Heartbeat {
  readonly #port: MessagePort
  readonly #idleMs: number
  readonly #timer: ReturnType<typeof setInterval>

  /** @param idleMs the longest silence that a statement of ordinary length explains. */
  constructor(port: MessagePort, idleMs: number) {
    this.#port = port
    this.#idleMs = idleMs
    port.onmessage = () => this.busy(idleMs)
    this.#timer = setInterval(() => this.busy(idleMs), 1_000)
    this.busy(idleMs)
  }

  busy(allowMs: number): void {
    this.#port.postMessage({ alive: true, allowMs: Math.max(allowMs, this.#idleMs) } satisfies Beat)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#port.close()
  }
}
