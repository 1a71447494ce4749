import { Service } from "../server/service.ts"
import { loadEngine } from "../sqlite/load.ts"
import { allErased } from "../storage/erased.ts"
import type { Storage } from "../storage/storage.ts"
import type { Started, StartOptions } from "./control.ts"
import { holdLock, isHeld, ownerLock, termLock, usableLocks, workerLock } from "./locks.ts"
import { cutOff } from "./outages.ts"
import { readUrl } from "./read-url.ts"
import { tellStorage } from "./status.ts"
import { chooseStorage } from "./worker-storage.ts"

export interface RunningService {
  readonly service: Service
  readonly started: Started
  /** Closes every database cleanly and lets the name go. */
  stop(): Promise<void>
}

/**
 * Composes the service of this worker.
 * @param onBusy told at most once a second while a statement runs, with the silence that its kind explains (ms).
 * @throws AgentDBError `failed_precondition` if the storage asked for is not there.
 * Nothing is taken back then: whoever started the worker ends it.
 */
export async function startService(options: StartOptions, onBusy: (allowMs: number) => void): Promise<RunningService> {
  let scratch: Storage | undefined
  const wasm = options.wasmUrl ?? new URL("./sqlite3.wasm", import.meta.url)
  // The engine takes the longest, and needs no file before its first sort.
  const loading = loadEngine({
    wasm,
    storage: { takeTemp: () => scratch?.takeTemp(), giveTemp: (file) => scratch?.giveTemp(file) },
  })
  const [engine, { release, storage, identity, reason }] = await Promise.all([loading, takeStorage(options)])
  scratch = storage
  // The page sees the worker end and starts another, which recovers what was acknowledged.
  engine.onTrap = () => self.close()
  engine.onBusy = (_ranMs, limitMs) => onBusy(limitMs)
  const { keys, limits } = options
  const onStorage = identity === undefined ? undefined : tellStorage(options.name, identity)
  const service = await Service.open({ engine, storage, keys, limits, readUrl, onStorage })
  return {
    service,
    started: { storage: storage.kind, reason, identity, keys: options.keys },
    async stop() {
      await service.close()
      await storage.close()
      release()
    },
  }
}

/** The files come after the name: the worker that had it before still has them open. */
async function takeStorage(options: StartOptions) {
  const release = await takeName(options)
  return { release, ...(await chooseStorage(options)) }
}

/**
 * Waits for the worker that has the name, however long: the page says meanwhile that it does. Where there are no
 * Web Locks there is no OPFS either, and memory needs no owner.
 */
async function takeName({ name, term, identity }: StartOptions): Promise<() => void> {
  const locks = await usableLocks()
  if (!locks) return () => {}
  // A page whose site data is cleared keeps its locks apart from those of all workers and tabs that come after.
  if (!(await isHeld(locks, termLock(term.id)))) throw identity === undefined ? cutOff() : allErased()
  await holdLock(locks, workerLock(term.id))
  return holdLock(locks, ownerLock(name))
}
