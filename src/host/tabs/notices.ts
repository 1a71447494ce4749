/** A worker that serves, as the tabs of its name know it. */
export interface Term {
  /** Of this run of the service, never used again. */
  readonly id: string
  /** Address of the script that is also the broker; undefined where ports can't be handed over. */
  readonly broker: string | undefined
}

/** What the tabs of one name tell each other; all hear all. These shapes are kept by every generation. */
export type Notice =
  /** Who serves? */
  | { readonly type: "who" }
  /** This worker does. At its start, and to each `who`. */
  | { readonly type: "leader"; readonly term: Term }
  /** A page has the name and gets its worker up; once a second. */
  | { readonly type: "starting" }
  /** Its page lives and starts another. */
  | { readonly type: "died"; readonly term: string }
  /** To the page whose worker says nothing. */
  | { readonly type: "alive?"; readonly term: string }
  | { readonly type: "alive"; readonly term: string }
  /** To a worker: meet me on a channel of this name. `lock` is held while I live. */
  | { readonly type: "join"; readonly term: string; readonly channel: string; readonly lock: string }

/** The noticeboard of a name, for pages and for the worker. */
export class Board {
  readonly #channel: BroadcastChannel
  readonly #generation: number

  /** @param onnotice gets the sender's generation too. */
  constructor(name: string, generation: number, onnotice: (notice: Notice, generation: number) => void) {
    this.#generation = generation
    this.#channel = new BroadcastChannel(`agentdb:${name}`)
    this.#channel.onmessage = ({ data }: MessageEvent<{ notice?: Notice; generation?: number } | undefined>) => {
      // Any script of the origin can write here.
      if (typeof data?.generation === "number" && typeof data.notice?.type === "string")
        onnotice(data.notice, data.generation)
    }
  }

  post(notice: Notice): void {
    this.#channel.postMessage({ notice, generation: this.#generation })
  }

  close(): void {
    this.#channel.close()
  }
}
