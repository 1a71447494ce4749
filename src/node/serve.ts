import type { EventEmitter } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { WebSocket } from "ws"
import { CloseCode } from "../link/link.ts"
import { AgentDBError } from "../wire/errors.ts"
import { developmentKeys, type Keys } from "../wire/jwt.ts"
import { type Limits, resolveLimits } from "../wire/limits.ts"
import { DumpStore } from "./dump-store.ts"
import { answerHttp } from "./http.ts"
import { checkKeys } from "./keys.ts"
import { type Log, quietLog } from "./log.ts"
import { socketPath } from "./path.ts"
import { joinSocket } from "./socket.ts"
import { Supervisor } from "./supervisor.ts"
import { upgrader } from "./upgrade.ts"

export interface ServeOptions {
  /** 0, the default, takes any free one. */
  readonly port?: number | undefined
  /** The address to listen on; the default is 127.0.0.1, which no other machine reaches. */
  readonly host?: string | undefined
  /** API key to secret; the default is `{ devkey: "secret" }`. */
  readonly keys?: Keys | undefined
  readonly limits?: Partial<Limits> | undefined
  /** The default says nothing but that something was lost, on the console. */
  readonly log?: Log | undefined
}

export interface AgentDBServer extends AsyncDisposable {
  /** `http://host:port`, where Twirp clients go. */
  readonly url: string
  /** The WebSocket's whole address. */
  readonly wsUrl: string
  /** Closes every socket with 1001 and every database, lets answers under way end, and the port go. Idempotent. */
  close(): Promise<void>
}

/** A peer that does not answer the close is cut off. */
const closePatienceMs = 1_000
/** So is one that takes longer for the rest of its answer, which may be a download. */
const answerPatienceMs = 5_000

/** @param workerUrl of `worker.ts` in one file, with sqlite3.wasm beside it. */
export async function serve(options: ServeOptions, workerUrl: URL): Promise<AgentDBServer> {
  const { port = 0, host = "127.0.0.1", keys = developmentKeys, log = quietLog } = options
  checkKeys(keys)
  const limits = resolveLimits(options.limits)
  const dumps = new DumpStore()
  const ondump = (path: string, file: string, expiresAt: number) => dumps.add(path, file, expiresAt)
  const supervisor = new Supervisor({ workerUrl, keys, limits, ondump }, log)
  const sockets = new Set<WebSocket>()
  const answering = new Set<ServerResponse>()
  let opened = 0
  let url = ""

  const onsocket = (socket: WebSocket, request: IncomingMessage) => {
    const { life } = supervisor
    if (!life) return socket.close(CloseCode.goingAway, "the service is closing")
    const name = `socket ${++opened}`
    const { remoteAddress, remotePort } = request.socket
    log.info(`${name} opened from ${remoteAddress} port ${remotePort}`)
    sockets.add(socket)
    joinSocket(socket, life.openSocket("by hand"), ({ code, reason }) => {
      log.info(`${name} closed with ${code}${reason && `: ${reason}`}`)
      sockets.delete(socket)
    })
  }

  const server = createServer()
  const context = { dumps, log, life: () => supervisor.life, origin: () => url }
  server.on("request", (request, response) => {
    answering.add(response)
    response.once("close", () => answering.delete(response))
    void answerHttp(request, response, context)
  })
  server.on(
    "upgrade",
    upgrader(limits.maxFrameBytes, () => supervisor.life !== undefined, onsocket),
  )

  const shut = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    await supervisor.close()
    await Promise.all([
      allClosed(sockets, closePatienceMs, (socket) => socket.terminate()),
      allClosed(answering, answerPatienceMs, (response) => response.destroy()),
    ])
    server.closeAllConnections()
    dumps.clear()
    await closed
  }
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= shut()
    return closing
  }

  url = await listen(server, port, host)
  try {
    await supervisor.start()
  } catch (error) {
    await close()
    throw error
  }
  return {
    url,
    wsUrl: `${url.replace(/^http/, "ws")}${socketPath}`,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** @returns the address to use, which for a wildcard is this machine's own. */
async function listen(server: Server, port: number, host: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(
        new AgentDBError("failed_precondition", `cannot listen on ${host} port ${port}: ${cause.message}`, { cause }),
      ),
    )
    server.listen(port, host, resolve)
  })
  const { address, family, port: taken } = server.address() as AddressInfo
  const own = address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address
  return `http://${family === "IPv6" ? `[${own}]` : own}:${taken}`
}

/** Waits for those that are open now; whoever is so after `patienceMs` is cut off. */
async function allClosed<T extends EventEmitter>(
  current: Set<T>,
  patienceMs: number,
  cutOff: (one: T) => void,
): Promise<void> {
  const open = [...current]
  const timer = setTimeout(() => open.forEach(cutOff), patienceMs)
  await Promise.all(open.map((one) => new Promise((resolve) => one.once("close", resolve))))
  clearTimeout(timer)
}
