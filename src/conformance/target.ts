import { type Limits, resolveLimits } from "../wire/limits.ts"
import type { ConformanceOptions } from "./options.ts"

/** The options with their defaults: what rules see of what they are run against. */
export type Target = Omit<ConformanceOptions, "limits" | "patienceMs" | "volumeBytes" | "hangMs" | "download"> & {
  readonly limits: Limits
  readonly patienceMs: number
  readonly volumeBytes: number
  readonly hangMs: number
  download(url: string): Promise<Uint8Array>
}

/** @throws AgentDBError `invalid_argument` for a bad limit. */
export function targetOf(options: ConformanceOptions): Target {
  const fetch = options.twirp?.fetch ?? globalThis.fetch
  const read = async (url: string) => new Uint8Array(await (await fetch(url)).arrayBuffer())
  return {
    ...options,
    // Methods of whoever was given.
    open: () => options.open(),
    download: options.download ?? read,
    limits: resolveLimits(options.limits),
    patienceMs: options.patienceMs ?? 5_000,
    volumeBytes: options.volumeBytes ?? 100 * 2 ** 20,
    hangMs: options.hangMs ?? 60_000,
  }
}
