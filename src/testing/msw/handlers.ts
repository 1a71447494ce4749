import { type HttpHandler, http, type WebSocketHandler, ws } from "msw"
import { asyncDispose } from "../../client/dispose.ts"
import type { Keys } from "../../wire/jwt.ts"
import type { Limits } from "../../wire/limits.ts"
import { addressOf } from "../address.ts"
import type { LocalService } from "../local-service.ts"
import { RoutedSocket } from "../routed-socket.ts"
import { TestAgentDB } from "../test-agentdb.ts"

export type Handler = HttpHandler | WebSocketHandler

export interface HandlersOptions {
  /**
   * Where the code under test believes its service to be, http(s) or ws(s). Sockets to `/db` of that origin (or to
   * the path of a ws(s) URL), requests below `/twirp/` and downloads of dumps are handled.
   */
  readonly url: string | URL
  /** API key to secret; the default is `{ devkey: "secret" }`. */
  readonly keys?: Keys | undefined
  readonly limits?: Partial<Limits> | undefined
  /** In a page only, as in `openAgentDB`. */
  readonly workerUrl?: string | URL | undefined
  /** In a page only, as in `openAgentDB`. */
  readonly wasmUrl?: string | URL | undefined
}

/** Handlers for `setupServer` and `setupWorker`, to be spread, and the service behind them. */
export interface AgentDBHandlers extends Iterable<Handler>, AsyncDisposable {
  readonly handlers: readonly Handler[]
  /** The test's own way to the service. */
  readonly agentdb: TestAgentDB
  /** Closes every socket with 1001 and ends the service; its databases are gone. Idempotent. */
  close(): Promise<void>
}

export function handlersOf(service: LocalService, { url, keys }: HandlersOptions): AgentDBHandlers {
  const address = addressOf(url)
  const agentdb = new TestAgentDB(service, address, keys)
  const sockets = ws.link(address.sockets)
  const handlers = [
    sockets.addEventListener("connection", ({ client }) => join(client, service)),
    http.all(address.requests, ({ request }) => service.fetch(request)),
  ]
  return {
    handlers,
    agentdb,
    close: () => agentdb.close(),
    [Symbol.iterator]: () => handlers.values(),
    [asyncDispose]: () => agentdb.close(),
  }
}

type Client = Parameters<Parameters<ReturnType<typeof ws.link>["addEventListener"]>[1]>[0]["client"]

function join(client: Client, service: LocalService): void {
  const socket = new RoutedSocket(() => service.openLink(), {
    send: (frame) => client.send(isForBlobs(client) ? new Blob([frame]) : wholeBuffer(frame)),
    close: ({ code, reason }) => client.close(code, reason),
  })
  client.addEventListener("message", ({ data }) => socket.receive(data))
  client.addEventListener("close", ({ code, reason }) => socket.closed(code, reason))
}

/** The library hands on what it is given, whatever type the socket's owner asked for. */
const isForBlobs = (client: Client) => "socket" in client && (client.socket as WebSocket).binaryType === "blob"

const wholeBuffer = (frame: Uint8Array<ArrayBuffer>): ArrayBuffer =>
  frame.byteLength === frame.buffer.byteLength ? frame.buffer : frame.slice().buffer
