import { AgentDBError } from "../wire/errors.ts"
import type { Dialer } from "./reconnect.ts"
import type { Socket } from "./socket.ts"
import type { Stop } from "./stop.ts"

/** More than this many idle ones are not worth their pings. */
const kept = 2

/** Sockets of a connection that carry one transaction at a time. */
export class SocketPool {
  readonly #dialer: Dialer
  readonly #all = new Set<Socket>()
  #idle: Socket[] = []

  constructor(dialer: Dialer) {
    this.#dialer = dialer
  }

  async take(stop?: Stop): Promise<Socket> {
    const idle = this.#idle.pop()
    if (idle) return idle
    const opening = this.#open()
    if (!stop) return opening
    try {
      return await stop.race(opening)
    } catch (error) {
      if (stop.error) opening.then((socket) => this.give(socket)).catch(() => {})
      throw error
    }
  }

  /** Streams of the transaction may still run on it. */
  give(socket: Socket): void {
    if (!this.#all.has(socket)) return
    if (this.#idle.length < kept) this.#idle.push(socket)
    else socket.endWhenIdle(new AgentDBError("closed", "not needed any more"))
  }

  close(error: AgentDBError): void {
    for (const socket of [...this.#all]) socket.end(error)
  }

  async #open(): Promise<Socket> {
    const socket = await this.#dialer.open()
    this.#all.add(socket)
    socket.onend(() => {
      this.#all.delete(socket)
      this.#idle = this.#idle.filter((idle) => idle !== socket)
    })
    return socket
  }
}
