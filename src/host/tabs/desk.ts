import type { Endpoint } from "comlink"
import { BroadcastPort } from "./broadcast-port.ts"
import { Board, type Term } from "./notices.ts"

/** What a follower's control calls come in by. */
export type PeerEndpoint = Endpoint & { close(): void }

/** Where the worker tells the tabs of its name who it is, and takes in those that can't send it a port. */
export class Desk {
  readonly #board: Board
  readonly #term: Term

  constructor(name: string, generation: number, term: Term, admit: (endpoint: PeerEndpoint, lock: string) => void) {
    this.#term = term
    this.#board = new Board(name, generation, (notice) => {
      if (notice.type === "who") this.announce()
      if (notice.type === "join" && notice.term === term.id) admit(BroadcastPort.answer(notice.channel), notice.lock)
    })
    this.announce()
  }

  announce(): void {
    this.#board.post({ type: "leader", term: this.#term })
  }

  close(): void {
    this.#board.close()
  }
}
