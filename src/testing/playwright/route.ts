import type { BrowserContext, Page, Route, WebSocketRoute } from "@playwright/test"
import type { InProcessOptions } from "../../node/in-process.ts"
import { InProcessService } from "../../node/in-process.ts"
import { type Address, addressOf } from "../address.ts"
import { RoutedSocket } from "../routed-socket.ts"
import { TestAgentDB } from "../test-agentdb.ts"

export interface RouteOptions extends InProcessOptions {
  /**
   * Where the page believes its service to be, http(s) or ws(s). Sockets to `/db` of that origin (or to the
   * path of a ws(s) URL), requests below `/twirp/` and downloads of dumps are served; no other request is touched.
   */
  readonly url: string | URL
}

/** What a page sees when it closed without a code (RFC 6455, 7.1.5). */
const noCode = 1005

/** The service that routed pages talk to. */
export class RoutedAgentDB extends TestAgentDB {
  readonly #address: Address
  readonly #targets = new Set<Page | BrowserContext>()

  /** Not for tests: `routeAgentDB` gives these. @internal */
  constructor(service: InProcessService, address: Address, options: RouteOptions) {
    super(service, address, options.keys)
    this.#address = address
  }

  /** Serves another page or context, too. Sockets that it opened before are not. */
  async route(target: Page | BrowserContext): Promise<void> {
    if (this.#targets.has(target)) return
    this.#targets.add(target)
    await target.route(this.#address.requests, this.#answer)
    await target.routeWebSocket(this.#address.sockets, (socket) => this.#join(socket))
  }

  /** Routes no more, closes every socket with 1001 and ends the service; its databases are gone. Idempotent. */
  override async close(): Promise<void> {
    await super.close()
    // Of a page that is closed there is nothing to take back.
    const unroute = (target: Page | BrowserContext) => target.unroute(this.#address.requests, this.#answer)
    await Promise.allSettled([...this.#targets].map(unroute))
    this.#targets.clear()
  }

  readonly #answer = async (route: Route): Promise<void> => {
    try {
      const response = await this.fetch(toRequest(route))
      const { status, headers } = response
      const body = Buffer.from(await response.arrayBuffer())
      await route.fulfill({ status, headers: Object.fromEntries(headers), body })
    } catch {
      // Either the service is closed, or the page has gone and does not wait for an answer.
      await route.abort("connectionrefused").catch(() => {})
    }
  }

  #join(page: WebSocketRoute): void {
    const socket = new RoutedSocket(() => this.service.openLink(), {
      send: (frame) => page.send(Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)),
      close: ({ code, reason }) => void page.close({ code, reason }),
    })
    page.onMessage((message) => socket.receive(message))
    // Also called when the page navigates, crashes or is closed.
    page.onClose((code, reason) => {
      socket.closed(code, reason)
      // Whoever listens for a page's close has to answer it.
      void page.close({ code: code ?? noCode, reason: reason ?? "" })
    })
  }
}

/** @param workerUrl of Node's worker in one file, with sqlite3.wasm beside it. */
export async function route(
  target: Page | BrowserContext,
  options: RouteOptions,
  workerUrl: URL,
): Promise<RoutedAgentDB> {
  const service = new InProcessService(options, workerUrl)
  const agentdb = new RoutedAgentDB(service, addressOf(options.url), options)
  try {
    await service.start()
    await agentdb.route(target)
    return agentdb
  } catch (error) {
    await agentdb.close()
    throw error
  }
}

function toRequest(route: Route): Request {
  const request = route.request()
  const method = request.method()
  const body = request.postDataBuffer()
  const init = { method, headers: request.headers() }
  return new Request(
    request.url(),
    body && method !== "GET" && method !== "HEAD" ? { ...init, body: new Uint8Array(body) } : init,
  )
}
