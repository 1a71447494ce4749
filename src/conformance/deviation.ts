/** What a rule throws where the target does not do what it says. */
export class Deviation extends Error {
  readonly expected: string
  readonly got: string

  constructor(about: string, expected: string, got: string) {
    super(about)
    this.name = "Deviation"
    this.expected = expected
    this.got = got
  }
}

/** Short enough for a line of a report. */
const maxLength = 300

export function show(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : render(value)
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}... (${text.length} characters)`
}

function render(value: unknown): string {
  if (value === undefined) return "nothing"
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (Object.is(value, -0)) return "-0"
  if (typeof value === "bigint" || typeof value === "number") return String(value)
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return `${part}n`
    if (typeof part === "number" && (!Number.isFinite(part) || Object.is(part, -0)))
      return Object.is(part, -0) ? "-0" : String(part)
    if (part instanceof Uint8Array) return `${part.length} bytes: ${[...part.subarray(0, 16)].join(" ")}`
    return part
  })
  return text ?? String(value)
}

/** @throws Deviation unless both are the same value: by content, and -0 is not 0. */
export function same(got: unknown, expected: unknown, about = ""): void {
  if (!isSame(got, expected)) throw new Deviation(about, show(expected), show(got))
}

/** @throws Deviation */
export function holds(condition: boolean, expected: string, got: unknown, about = ""): void {
  if (!condition) throw new Deviation(about, expected, show(got))
}

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    return a.length === b.length && a.every((byte, i) => byte === b[i])
  }
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(b)
  if (Object.keys(a).length !== keys.length) return false
  return keys.every((key) => isSame((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
}
