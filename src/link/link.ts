import type { Frame } from "../wire/frames.ts"

/** WebSocket close codes that the protocol uses, on every kind of link. */
export const CloseCode = {
  normal: 1000,
  goingAway: 1001,
  notBinary: 1003,
  undecodable: 1007,
  policy: 1008,
  tooBig: 1009,
  internal: 1011,
} as const

export interface Close {
  /** A WebSocket close code; 1006 where the peer vanished without one. */
  readonly code: number
  readonly reason: string
  /** True where no peer said so: the link was cut, as when the worker at its end died. */
  readonly lost?: boolean
}

/**
 * How a client lets a busy worker learn of a cancel (see proto/README.md, cancel).
 * Never bytes, so it can't be taken for a frame.
 */
export type SignalNotice =
  /** A ring of cancelled request ids, once a socket. See `cancel-ring.ts`. */
  | { readonly sab: SharedArrayBuffer }
  /** Posted before the request's frame: a `blob:` URL that is revoked to cancel. */
  | { readonly requestId: number; readonly url: string }
  /** Posted with the Hello: a `blob:` URL that stays, so that a dead one proves something. */
  | { readonly probe: string }

/** One socket: frames both ways, in order, and one close. */
export interface Link {
  /** Called for each frame. Frames that came before it was set are kept. The buffer is the receiver's. */
  onframe: ((frame: Frame) => void) | undefined
  /** Called once when the peer closed or vanished; never for an own `close()`. */
  onclose: ((close: Close) => void) | undefined
  onsignal: ((notice: SignalNotice) => void) | undefined
  /** Sends a frame and takes its buffer. A no-op after the link closed. */
  send(frame: Frame): void
  /** Tells the peer that supports it; a no-op elsewhere. */
  signal(notice: SignalNotice): void
  /** What `signal` can carry. */
  readonly signals: "sab" | "blob" | "none"
  /** False while the peer takes frames more slowly than they come. `send` still keeps what it is given. */
  readonly writable?: boolean
  /** Called when `writable` is true again. A link without these two always takes one more frame. */
  onwritable?: (() => void) | undefined
  /** Ends the link; what was sent before still arrives. */
  close(code?: number, reason?: string): void
}
