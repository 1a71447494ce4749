import { whenReleased } from "../locks.ts"
import type { FromBroker, ToBroker } from "./broker.ts"

/** The page's connection to the broker at `url`, or undefined where there can be none. */
function connect(url: string): SharedWorker | undefined {
  if (typeof SharedWorker === "undefined") return undefined
  try {
    return new SharedWorker(url, { type: "module", name: "agentdb-web" })
  } catch {
    return undefined
  }
}

/** Whether a shared worker at this address is one for all tabs: one of a `blob:` or `data:` URL is not. */
export const canBroker = (url: string): boolean => typeof SharedWorker !== "undefined" && /^https?:/.test(url)

/** Offers `port` to whoever leads `term`. The function returned lets the broker go. */
export function joinByBroker(url: string, term: string, lock: string, port: MessagePort): () => void {
  const broker = connect(url)
  broker?.port.postMessage({ join: term, lock } satisfies ToBroker, [port])
  return () => broker?.port.close()
}

/** Takes the ports that come for `term`, also from each broker after the first. The function returned ends it. */
export function leadByBroker(
  locks: LockManager,
  { url, term, lock }: { url: string; term: string; lock: string },
  onjoin: (port: MessagePort, lock: string) => void,
): () => void {
  const over = new AbortController()
  let port: MessagePort | undefined
  const lead = () => {
    port = connect(url)?.port
    if (!port) return
    port.onmessage = ({ data, ports: [joined] }: MessageEvent<FromBroker>) => {
      if ("alive" in data) whenReleased(locks, data.alive, lead, over.signal)
      else if (joined) onjoin(joined, data.joined)
    }
    port.postMessage({ lead: term, lock } satisfies ToBroker)
  }
  lead()
  return () => {
    over.abort()
    port?.close()
  }
}
