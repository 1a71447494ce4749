export type Direction = "out" | "in"

/** One frame, or one close, as the inspector lists it. */
export interface FrameEntry {
  /** Counts all frames seen, from 1. */
  readonly number: number
  /** Milliseconds since the log began. */
  readonly at: number
  /** Whose socket, and which of them. */
  readonly socket: string
  readonly direction: Direction
  /** Undefined for a close, which belongs to the whole socket. */
  readonly requestId?: number
  /** The protocol's name of the message. */
  readonly kind: string
  readonly bytes: number
  readonly detail: string
  /** ColumnBatches that the request may still be sent, after this frame. */
  readonly credit?: number
}

/** A request that can be paced and has not ended. */
export interface OpenRequest {
  readonly kind: string
  credit: number
  batches: number
  rows: number
}
