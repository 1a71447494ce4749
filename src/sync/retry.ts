import { canceled } from "./online.ts"

export interface RetryOptions {
  /** How often in a row the network or the server may fail; default 8. */
  readonly attempts?: number | undefined
  /** Before attempt n about `minDelayMs * 2 ** n` passes, at most `maxDelayMs`; defaults 500 and 30,000 ms. */
  readonly minDelayMs?: number | undefined
  readonly maxDelayMs?: number | undefined
}

export type Retry = Required<{ [K in keyof RetryOptions]: number }>

export function resolveRetry({ attempts = 8, minDelayMs = 500, maxDelayMs = 30_000 }: RetryOptions = {}): Retry {
  return { attempts, minDelayMs, maxDelayMs }
}

/** Milliseconds before the attempt after `failures` failures in a row; random, so that clients spread. */
export function delayBefore({ minDelayMs, maxDelayMs }: Retry, failures: number): number {
  return Math.min(maxDelayMs, minDelayMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
}

/** The header in milliseconds: it is seconds or a date. At most an hour. */
export function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), 3_600_000)
}

/** Rejects with `canceled`. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(canceled())
    const abort = () => {
      clearTimeout(timer)
      reject(canceled())
    }
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort)
      resolve()
    }, ms)
    signal.addEventListener("abort", abort, { once: true })
  })
}
