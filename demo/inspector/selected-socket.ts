import type { Connection } from "agentdb-web/client"

/** The SQL box's connection: one at a time, on the database that is selected. */
export class SelectedSocket {
  readonly #connectTo: (databaseId: string) => Promise<Connection>
  #current: { databaseId: string; connection: Promise<Connection> } | undefined

  constructor(connectTo: (databaseId: string) => Promise<Connection>) {
    this.#connectTo = connectTo
  }

  /** The connection to a database: the one that stands, or a new one. */
  async connection(databaseId: string): Promise<Connection> {
    if (this.#current?.databaseId === databaseId) return this.#current.connection
    await this.close()
    const current = { databaseId, connection: this.#connectTo(databaseId) }
    this.#current = current
    current.connection.catch(() => {
      if (this.#current === current) this.#current = undefined
    })
    return current.connection
  }

  /** The next use makes another. */
  async close(): Promise<void> {
    const current = this.#current
    this.#current = undefined
    const connection = await current?.connection.catch(() => undefined)
    await connection?.close()
  }
}
