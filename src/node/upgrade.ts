import { type IncomingMessage, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { type WebSocket, WebSocketServer } from "ws"
import { pathOf, socketPath } from "./path.ts"

/**
 * Takes WebSocket handshakes on `/db`; the others get an HTTP status: 404 another path,
 * 405 another verb, 400 what is no proper handshake, 503 while `isOpen` is false.
 *
 * AgentDB has no subprotocol. To a client that offers some, none is confirmed, as RFC 6455
 * section 4.2.2 has it for a server that agrees to none: whether to go on is the client's choice.
 * (Browsers do not.)
 *
 * @param maxPayload bytes; a larger message closes its socket with 1009 before it is read.
 */
export function upgrader(
  maxPayload: number,
  isOpen: () => boolean,
  onsocket: (socket: WebSocket, request: IncomingMessage) => void,
): (request: IncomingMessage, stream: Duplex, head: Buffer) => void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Compression costs memory for each socket, and the service's answers are not worth it on a local network.
    perMessageDeflate: false,
    maxPayload,
    autoPong: false,
    handleProtocols: () => false,
  })
  return (request, stream, head) => {
    // Node has let go of it: unheard, an error would end the process.
    stream.on("error", () => stream.destroy())
    if (pathOf(request.url ?? "/") !== socketPath) refuse(stream, 404)
    else if (!isOpen()) refuse(stream, 503)
    else server.handleUpgrade(request, stream, head, (socket) => onsocket(socket, request))
  }
}

function refuse(stream: Duplex, status: number): void {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, "connection: close", "content-length: 0"]
  stream.end(`${lines.join("\r\n")}\r\n\r\n`, () => stream.destroy())
}
