const whole = new Intl.NumberFormat("en")
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" })
const dayAndClock = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
})

export function formatCount(count: number | bigint): string {
  return whole.format(count)
}

/** `1 row`, `2 rows`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ["kB", "MB", "GB", "TB"]
  let value = bytes
  let unit = -1
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** @param seconds Unix seconds */
export function formatTime(seconds: number, now: number = Date.now() / 1000): string {
  const date = new Date(seconds * 1000)
  const sameDay = date.toDateString() === new Date(now * 1000).toDateString()
  return (sameDay ? clock : dayAndClock).format(date)
}

/** How long until `seconds` (Unix); 0 is the service's word for never. */
export function formatExpiry(seconds: number, now: number): string {
  if (seconds === 0) return "never"
  const left = Math.ceil(seconds - now)
  if (left <= 0) return "now"
  if (left < 120) return `in ${left} s`
  if (left < 7200) return `in ${Math.round(left / 60)} min`
  if (left < 172_800) return `in ${Math.round(left / 3600)} h`
  return formatTime(seconds, now)
}

export function formatMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}
