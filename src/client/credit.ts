import type { Socket } from "./socket.ts"

/** What a query carries without any Credit (proto/README.md, credit). */
const implied = 4

/**
 * Lets a request have `window` ColumnBatches under way. What exceeds the implied window is
 * granted at once, so that a server without one works too; then one for each batch taken.
 */
export class Credit {
  readonly #socket: Socket
  readonly #requestId: number

  constructor(socket: Socket, requestId: number, window = 8) {
    this.#socket = socket
    this.#requestId = requestId
    socket.credit(requestId, Math.min(Math.max(Math.trunc(window) || 0, implied + 1), 0xffff_ffff) - implied)
  }

  taken(): void {
    this.#socket.credit(this.#requestId, 1)
  }
}
