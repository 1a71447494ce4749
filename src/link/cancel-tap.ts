import { decodeClientMessage, type Frame } from "../wire/frames.ts"
import { CancelRingWriter, createCancelRing } from "./cancel-ring.ts"
import type { Link } from "./link.ts"

/** A Cancel has an id and no content: anything larger is not worth a look. */
const maxCancelBytes = 64

/**
 * For a peer that knows frames only, on its way to a link that takes `sab` signals: reads its Cancel frames,
 * so that a worker which is inside a statement learns of them. Call the result with each frame before it is sent.
 */
export function tapCancels(link: Link): (frame: Frame) => void {
  const sab = createCancelRing()
  const ring = new CancelRingWriter(sab)
  link.signal({ sab })
  return (frame) => {
    const canceled = canceledBy(frame)
    if (canceled !== undefined) ring.push(canceled)
  }
}

function canceledBy(frame: Frame): number | undefined {
  if (frame.byteLength > maxCancelBytes) return undefined
  try {
    const { requestId, message } = decodeClientMessage(frame)
    return message.case === "cancel" ? requestId : undefined
  } catch {
    // The session closes for it.
    return undefined
  }
}
