/** WebSocket's bound on the reason of a close, in bytes of UTF-8. */
const maxReasonBytes = 123

/** The reason, cut where it must be and never inside a character. */
export function closeReason(reason: string): string {
  const bytes = new Uint8Array(maxReasonBytes)
  const { read } = new TextEncoder().encodeInto(reason, bytes)
  return reason.slice(0, read)
}
