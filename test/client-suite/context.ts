import { mintToken } from "agentdb-web"
import { type Connection, type ConnectOptions, connect, type Limits, type Link } from "agentdb-web/client"
import { Tap } from "./tap.ts"

/** How a suite reaches a service: each case has one of its own. */
export interface Way {
  start(limits: Partial<Limits>): Promise<RunningService>
}

export interface RunningService {
  readonly databaseId: string
  openLink(): Promise<Link>
  /** A connection to `databaseId` as applications make it here, over links that pass through `tap`. */
  connect(tap: (link: Link) => Link, o: Omit<Partial<ConnectOptions>, "link">): Promise<Connection>
  close(): Promise<void>
}

/** A service that is reached by links, which a connection makes as it needs them. */
export function overLinks(databaseId: string, openLink: () => Link, close: () => Promise<void>): RunningService {
  return {
    databaseId,
    openLink: async () => openLink(),
    connect: (tap, o) => connect({ token, ...o, databaseId, link: () => tap(openLink()) }),
    close,
  }
}

export interface Case {
  readonly name: string
  readonly limits?: Partial<Limits>
  /** Only where the service runs on another thread: what keeps it busy would keep the client busy too. */
  readonly needs?: "worker"
  run(ctx: Context): Promise<void>
}

export interface Group {
  readonly name: string
  readonly cases: readonly Case[]
}

interface DialOptions extends Omit<Partial<ConnectOptions>, "link"> {
  /** Called with each link before it is used, the first being 0. */
  onlink?(tap: Tap, index: number): void
}

/** What a case has. Connections that it leaves open are closed behind it. */
export class Context {
  readonly databaseId: string
  readonly #service: RunningService
  readonly #taps = new WeakMap<Connection, Tap[]>()
  readonly #connections: Connection[] = []

  constructor(service: RunningService) {
    this.#service = service
    this.databaseId = service.databaseId
  }

  /** A connection that makes links as it needs them. */
  async connect({ onlink, ...o }: DialOptions = {}): Promise<Connection> {
    const taps: Tap[] = []
    const tapped = (link: Link): Link => {
      const tap = new Tap(link)
      onlink?.(tap, taps.length)
      taps.push(tap)
      return tap
    }
    return this.#keep(await this.#service.connect(tapped, o), taps)
  }

  /** A connection that has one link and no way to make another. */
  async connectSingle(): Promise<Connection> {
    const tap = new Tap(await this.#service.openLink())
    const db = await connect({ link: tap, databaseId: this.databaseId, token: token() })
    return this.#keep(db, [tap])
  }

  /** The links that a connection has had, oldest first. */
  taps(db: Connection): readonly Tap[] {
    return this.#taps.get(db) ?? []
  }

  /** The first link of a connection: of two kinds the one that carries everything outside a transaction. */
  tap(db: Connection): Tap {
    const [first] = this.taps(db)
    if (!first) throw new Error("not a connection of this context")
    return first
  }

  /** What a connection sent over all of its links, beside Hello and Ping. */
  sent(db: Connection): string[] {
    return this.taps(db).flatMap((tap) => tap.sentKinds)
  }

  /** Cuts every open link of a connection. */
  cutLinks(db: Connection): void {
    for (const tap of this.taps(db)) tap.cut()
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((db) => db.close()))
  }

  #keep(db: Connection, taps: Tap[]): Connection {
    this.#taps.set(db, taps)
    this.#connections.push(db)
    return db
  }
}

export const token = (): string => mintToken("devkey", "secret", Math.floor(Date.now() / 1000))

/** Runs a case from its service's start to that one's end. */
export async function runCase(way: Way, { limits = {}, run }: Case): Promise<void> {
  const service = await way.start(limits)
  try {
    const ctx = new Context(service)
    await run(ctx)
    await ctx.close()
  } finally {
    await service.close()
  }
}
