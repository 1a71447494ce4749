import type { Limits } from "../wire/limits.ts"
import type { Rule } from "./rule.ts"

type Need = Rule["unfit"]
type Named<End extends string> = Extract<keyof Limits, `${string}${End}`>

/** The rule waits until this limit has passed. */
export const waitsFor =
  (name: Named<"Ms">): Need =>
  ({ limits, patienceMs }) =>
    limits[name] <= patienceMs ? undefined : `${name} is ${limits[name]}, and patienceMs ${patienceMs}`

/** The rule goes over this limit. */
export const fills =
  (name: Named<"Bytes">, times = 1.1): Need =>
  ({ limits, volumeBytes }) =>
    limits[name] * times <= volumeBytes ? undefined : `${name} is ${limits[name]}, and volumeBytes ${volumeBytes}`

export const key: Need = ({ key }) => (key ? undefined : "no `key` was given to make tokens with")
export const otherProject: Need = ({ otherProject }) => (otherProject ? undefined : "no `otherProject` was given")
export const twirp: Need = ({ twirp }) => (twirp ? undefined : "no `twirp` was given")
export const ownThread: Need = ({ sameThread }) =>
  sameThread ? "statements run on the kit's own thread, and nothing reaches one that is running" : undefined
