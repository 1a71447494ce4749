import { transfer } from "comlink"
import { hangUp } from "./hang-up.ts"
import type { Life } from "./life.ts"
import type { Supervisor } from "./supervisor.ts"

export interface WatchOptions {
  readonly supervisor: Supervisor
  readonly owner: string
  readonly apiKey: Promise<string>
  readonly databaseId: string
  /** Called with each newer tip; what it throws is reported as an uncaught error. */
  readonly listener: (tip: number) => void
}

/** Tells of each durable commit of a database, over any number of workers. The function returned ends it. */
export function watchTip({ supervisor, owner, apiKey, databaseId, listener }: WatchOptions): () => void {
  let newest = -1
  let over = false
  let port: MessagePort | undefined

  const tell = (tip: number) => {
    if (over || tip <= newest) return
    newest = tip
    listener(tip)
  }
  const stop = () => {
    if (port) hangUp(port)
    port = undefined
  }
  const follow = async (life: Life) => {
    const isFirst = port === undefined
    stop()
    const { port1, port2 } = new MessageChannel()
    port = port1
    port1.onmessage = (event: MessageEvent<number>) => tell(event.data)
    const key = await apiKey
    if (over) return
    await life.call((control) => control.watch(owner, key, databaseId, transfer(port2, [port2])))
    // A commit whose news died with the worker before.
    if (!isFirst) tell((await life.call((control) => control.get(key, databaseId))).tip)
  }
  // A database that is gone has no more commits to tell of.
  const forget = supervisor.eachLife((life) => void follow(life).catch(() => {}))
  return () => {
    over = true
    forget()
    stop()
  }
}
