import type { WebSocket } from "ws"
import { tapCancels } from "../link/cancel-tap.ts"
import { type Close, CloseCode } from "../link/link.ts"
import { isArrayBuffer } from "../wire/buffers.ts"
import type { Frame } from "../wire/frames.ts"
import { closeReason } from "./close-reason.ts"
import { costOf, type TunnelLink } from "./tunnel-link.ts"

/** Streams stop long before this; a peer that asks on and on without reading is not read either above it. */
const maxUnsent = 16 * 1024 * 1024

/**
 * Joins a WebSocket to the service. Frames pass as they are; closes pass with their codes both ways.
 * @param onend called once with how it ended: the server's own words if it was the server's doing.
 */
export function joinSocket(socket: WebSocket, link: TunnelLink, onend: (close: Close) => void): void {
  const tellCancel = tapCancels(link)
  /** Cost of what the transport has not taken from us. */
  let unsent = 0
  let said: Close | undefined

  const sending = (cost: number): (() => void) => {
    unsent += cost
    pace()
    return () => {
      unsent -= cost
      pace()
    }
  }
  const pace = () => {
    // Nothing is left to read but the peer's close.
    const hold = !said && (unsent > maxUnsent || !link.writable)
    if (hold === socket.isPaused) return
    if (hold) socket.pause()
    else socket.resume()
  }
  const end = (close: Close) => {
    if (said) return
    said = close
    pace()
    link.close(close.code, close.reason)
    socket.close(close.code, closeReason(close.reason))
  }

  socket.binaryType = "arraybuffer"
  link.onwritable = pace
  link.onclose = end
  link.onframe = (frame) => {
    const cost = costOf(frame)
    const sent = sending(cost)
    // Called when the system has taken it, and also when it never will.
    socket.send(frame, () => {
      sent()
      link.take(cost)
    })
  }
  socket.on("message", (data: ArrayBuffer | Buffer, isBinary) => {
    if (said) return
    // Text comes as a Buffer, whatever the type asked for.
    if (!isBinary || !isArrayBuffer(data)) return end({ code: CloseCode.notBinary, reason: "frames are binary" })
    const frame = new Uint8Array(data)
    // Before the frame itself: the worker may be inside a statement, and then reads only the ring.
    tellCancel(frame)
    link.send(frame)
    pace()
  })
  // The library answers what breaks WebSocket's own rules, and closes with 1002, 1007 or 1009.
  socket.on("error", (error) => {
    said ??= { code: codeOf(error), reason: error.message }
    link.close()
  })
  socket.on("ping", (data) => socket.pong(data, false, sending(costOf(data as Frame))))
  socket.on("close", (code, reason) => {
    link.close(code, reason.toString())
    onend(said ?? { code, reason: reason.toString() })
  })
}

/** What the library closes with after an error of its own; 1006 where the connection broke. */
function codeOf(error: Error): number {
  const name = "code" in error ? String(error.code) : ""
  if (name === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return CloseCode.tooBig
  if (name === "WS_ERR_INVALID_UTF8") return CloseCode.undecodable
  return name.startsWith("WS_ERR") ? 1002 : 1006
}
