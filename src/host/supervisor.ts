import type { Status } from "../client/index.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Started } from "./control.ts"
import { readEstimate, StatusBoard } from "./status.ts"
import { type LifeOptions, WorkerLife } from "./worker-life.ts"

/** Between two starts that nobody asked for, so that a worker which dies at once doesn't spin. */
const restartMs = 5_000

/** A worker that was ended inside a function may take seconds to die, and keeps the name meanwhile. */
const restartOwnerWaitMs = 10_000

type State =
  /** No worker; the next one who needs it starts it. */
  | { readonly kind: "idle" }
  | { readonly kind: "starting"; readonly life: WorkerLife; readonly serving: Promise<WorkerLife> }
  | { readonly kind: "serving"; readonly life: WorkerLife }
  | { readonly kind: "closed" }

/** Keeps one worker running for a name: a dead one is replaced, and its sockets connect again by themselves. */
export class Supervisor {
  readonly options: LifeOptions
  readonly #board = new StatusBoard()
  readonly #onlife = new Set<(life: WorkerLife) => void>()
  #state: State = { kind: "idle" }
  #restart: ReturnType<typeof setTimeout> | undefined
  #hasServed = false

  constructor(options: LifeOptions) {
    this.options = options
  }

  get status(): Status {
    return this.#board.status
  }

  onStatus(listener: (status: Status) => void): () => void {
    return this.#board.listen(listener)
  }

  /** Calls `listener` with the worker that serves now, at once, and with each one after it before anyone else has it. */
  eachLife(listener: (life: WorkerLife) => void): () => void {
    this.#onlife.add(listener)
    if (this.serving) listener(this.serving)
    return () => this.#onlife.delete(listener)
  }

  /** The worker that serves, if one does. */
  get serving(): WorkerLife | undefined {
    return this.#state.kind === "serving" ? this.#state.life : undefined
  }

  /** The worker that serves, started if need be. */
  async life(): Promise<WorkerLife> {
    switch (this.#state.kind) {
      case "closed":
        throw closed()
      case "serving":
        return this.#state.life
      case "starting":
        return this.#state.serving
      case "idle":
        return this.#start()
    }
  }

  /** Asks the browser what it keeps for this origin. */
  async refreshEstimate(): Promise<void> {
    if (this.status.storage === "memory") return
    const estimate = await readEstimate()
    this.#board.set({ ...this.status, ...estimate })
  }

  async close(): Promise<void> {
    const state = this.#state
    this.#state = { kind: "closed" }
    clearTimeout(this.#restart)
    if (state.kind === "starting" || state.kind === "serving") await state.life.stop()
  }

  #start(): Promise<WorkerLife> {
    clearTimeout(this.#restart)
    const life = new WorkerLife(this.#hasServed ? { ...this.options, ownerWaitMs: restartOwnerWaitMs } : this.options)
    const estimate = readEstimate()
    const serving = life.ready.then(async (started) => {
      this.#board.set(statusOf(started, await estimate, this.#hasServed))
      // Lost or closed meanwhile.
      if (life.gone || this.#state.kind !== "starting") throw life.gone ?? closed()
      this.#state = { kind: "serving", life }
      this.#hasServed = true
      for (const listener of this.#onlife) listener(life)
      return life
    })
    this.#state = { kind: "starting", life, serving }
    life.onlost = () => this.#lost(life)
    return serving
  }

  #lost(life: WorkerLife): void {
    const served = this.#state.kind === "serving"
    this.#state = { kind: "idle" }
    if (!served) return
    const lived = performance.now() - life.startedAt
    this.#restart = setTimeout(() => this.life().catch(() => {}), Math.max(0, restartMs - lived))
  }
}

const closed = () => new AgentDBError("closed", "the service was closed")

function statusOf(started: Started, estimate: Awaited<ReturnType<typeof readEstimate>>, again: boolean): Status {
  const { storage } = started
  if (storage === "opfs") return { storage, role: "leader", ...estimate }
  const reasons = [started.reason, again && "the worker was restarted, and what its memory held is gone"].filter(
    Boolean,
  )
  return { storage, role: "leader", persisted: false, ...(reasons.length > 0 ? { reason: reasons.join("; ") } : {}) }
}
