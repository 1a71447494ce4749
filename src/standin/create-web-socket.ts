import type { AgentDB } from "../host/agentdb.ts"
import { defineWebSocket } from "./web-socket.ts"

/** What a stand-in socket needs of an AgentDB: a link for each socket. */
export type SocketService = Pick<AgentDB, "openLink">

/**
 * A class that behaves as the browser's `WebSocket`, each of whose sockets is a
 * fresh Wire socket on `agentdb`, whatever its URL. For clients that take an
 * implementation (`webSocketImpl`, `WebSocket`); `install` is for those that don't.
 *
 * It selects the first subprotocol asked for, and no extension. The service
 * answers text with close 1003. A worker that dies is a connection that is
 * lost: an `error` event, then `close` with 1006, so that clients connect again.
 */
export function createWebSocket(agentdb: SocketService): typeof WebSocket {
  return defineWebSocket(() => agentdb.openLink())
}
