import { Readable } from "node:stream"
import type { Link } from "../link/link.ts"
import { AgentDBError } from "../wire/errors.ts"
import { developmentKeys, type Keys } from "../wire/jwt.ts"
import { type Limits, resolveLimits } from "../wire/limits.ts"
import { answer, type HttpAnswer } from "./answer.ts"
import { DumpFile, DumpStore } from "./dump-store.ts"
import { checkKeys } from "./keys.ts"
import { quietLog } from "./log.ts"
import { Supervisor } from "./supervisor.ts"

export interface InProcessOptions {
  /** API key to secret; the default is `{ devkey: "secret" }`. */
  readonly keys?: Keys | undefined
  readonly limits?: Partial<Limits> | undefined
}

/** A service in a thread of this process, in memory, without a port: what comes to it is handed to it. */
export class InProcessService {
  readonly #dumps = new DumpStore()
  readonly #supervisor: Supervisor
  #starting: Promise<void> | undefined
  #closing: Promise<void> | undefined

  /**
   * Starts nothing yet.
   * @param workerUrl of `worker.ts` in one file, with sqlite3.wasm beside it.
   * @throws AgentDBError `invalid_argument` for bad limits or keys.
   */
  constructor({ keys = developmentKeys, limits }: InProcessOptions, workerUrl: URL) {
    checkKeys(keys)
    const ondump = (path: string, file: string, expiresAt: number) => this.#dumps.add(path, file, expiresAt)
    this.#supervisor = new Supervisor({ workerUrl, keys, limits: resolveLimits(limits), ondump }, quietLog)
  }

  /** Idempotent; the first socket or request starts it, too. */
  start(): Promise<void> {
    if (this.#closing) return Promise.reject(closed())
    this.#starting ??= this.#supervisor.start()
    return this.#starting
  }

  /** A fresh Wire socket. */
  async openLink(): Promise<Link> {
    await this.start()
    const { life } = this.#supervisor
    if (!life) throw this.#closing ? closed() : new AgentDBError("unavailable", "the service is being started")
    return life.openSocket("at once")
  }

  /** Answers what a server would: the Twirp plane, and downloads of dumps, whatever the origin. */
  async fetch(request: Request): Promise<Response> {
    await this.start()
    const { method, url } = request
    const body = new Uint8Array(await request.arrayBuffer())
    const given = { method, url, headers: [...request.headers], body, origin: new URL(url).origin }
    const source = { dumps: this.#dumps, life: () => this.#supervisor.life }
    const { status, headers, body: content } = await answer(given, source)
    const isEmpty = method === "HEAD" || status === 204
    return new Response(isEmpty ? null : bodyOf(content), { status, headers })
  }

  /** Closes the sockets with 1001 and ends the thread. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#supervisor.close().then(() => this.#dumps.clear())
    return this.#closing
  }
}

const bodyOf = (content: HttpAnswer["body"]): BodyInit =>
  content instanceof DumpFile ? (Readable.toWeb(Readable.from(content.slices())) as ReadableStream) : content

const closed = () => new AgentDBError("closed", "the service was closed")
