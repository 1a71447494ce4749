/** Timers beyond 24.8 days fire at once, and a sleeping machine stops them: look at the clock at least hourly. */
const longestTimerMs = 3_600_000

/** A `blob:` URL of `file` for any code of the origin, revoked at `expiresAt` (Unix seconds). */
export function publishDump(file: Blob, { expiresAt }: { expiresAt: number }): string {
  const url = URL.createObjectURL(file)
  const revokeWhenDue = () => {
    const leftMs = expiresAt * 1_000 - Date.now()
    if (leftMs <= 0) URL.revokeObjectURL(url)
    else setTimeout(revokeWhenDue, Math.min(leftMs, longestTimerMs))
  }
  revokeWhenDue()
  return url
}
