import type { Link } from "../link/link.ts"
import { ByteReader } from "../wire/bytes.ts"
import { cancelSignals } from "./cancel-signals.ts"

/** Members of ClientMessage and ServerMessage, by field number. */
const member = { exec: 3, query: 4, batch: 5, cancel: 9, execResult: 5, done: 6, error: 7 } as const
const requests: readonly number[] = [member.exec, member.query, member.batch]
// A batch is answered once it has committed: there is nothing left to cancel in the worker.
const ends: readonly number[] = [member.execResult, member.done, member.error]

/** Signals the cancels of a peer that knows frames only, beside its Cancel frames. */
export interface FrameSignals {
  /** Called with each frame before it is sent. */
  sending(frame: Uint8Array<ArrayBuffer>): void
  /** Called with each frame that came. */
  received(frame: Uint8Array<ArrayBuffer>): void
  /** The socket has ended. */
  end(): void
}

/** @param link a fresh one, before its Hello. */
export function frameSignals(link: Link): FrameSignals {
  const signals = cancelSignals(link)
  signals.announce()
  return {
    sending(frame) {
      const { requestId, field } = headOf(frame)
      if (requests.includes(field)) signals.arm(requestId)
      else if (field === member.cancel) signals.fire(requestId)
    },
    received(frame) {
      const { requestId, field } = headOf(frame)
      if (ends.includes(field)) signals.release(requestId)
    },
    end: () => signals.end(),
  }
}

/** Which request a frame is of, and which member of its oneof it has; 0 for what is no frame, which the service refuses. */
function headOf(frame: Uint8Array<ArrayBuffer>): { requestId: number; field: number } {
  const reader = new ByteReader(frame)
  let requestId = 0
  let field = 0
  try {
    while (!reader.done) {
      const tag = reader.varint()
      if (tag === 0x08) requestId = reader.varint() >>> 0
      else {
        if (tag >>> 3 <= 11) field = tag >>> 3
        reader.skip(tag & 7)
      }
    }
  } catch {
    return { requestId: 0, field: 0 }
  }
  return { requestId, field }
}
