import type { Link } from "agentdb-web/client"
import type { SocketTap } from "./socket-tap.ts"

/** A link that lets everything through and writes down what passed. */
export function recordingLink(inner: Link, tap: SocketTap): Link {
  let onframe: Link["onframe"]
  let onclose: Link["onclose"]
  return {
    get onframe() {
      return onframe
    },
    set onframe(handler) {
      onframe = handler
      // Only now: what came early stays in the inner link until someone listens.
      inner.onframe =
        handler &&
        ((frame) => {
          tap.received(frame)
          handler(frame)
        })
    },
    get onclose() {
      return onclose
    },
    set onclose(handler) {
      onclose = handler
      inner.onclose = (close) => {
        tap.closed("in", close.code, close.reason)
        handler?.(close)
      }
    },
    get onsignal() {
      return inner.onsignal
    },
    set onsignal(handler) {
      inner.onsignal = handler
    },
    get signals() {
      return inner.signals
    },
    send(frame) {
      tap.sent(frame)
      inner.send(frame)
    },
    signal(notice) {
      inner.signal(notice)
    },
    close(code, reason) {
      tap.closed("out", code ?? 1000, reason ?? "")
      inner.close(code, reason)
    },
  }
}
