import { AgentDBError, type PushProgress, type SinkResult, type SnapshotSink } from "../client/index.ts"
import type { AgentDB } from "../host/agentdb.ts"
import { HeldSource } from "./held-source.ts"
import { canceled, isOnline, online } from "./online.ts"
import { type Place, type PushRecord, recall, recordMore, recordStart } from "./push-records.ts"
import { withTurn } from "./turn.ts"

export interface PushOptions {
  from: AgentDB
  databaseId: string
  to: SnapshotSink
  /** Ends the push, which rejects with `canceled` (an AbortError). */
  signal?: AbortSignal | undefined
  onProgress?: ((progress: PushProgress) => void) | undefined
  /** Push although nothing has changed, and overwrite whatever the target holds. */
  force?: boolean | undefined
  /** Wait for a network instead of failing with `unavailable`, also when it goes in the middle. */
  whenOnline?: boolean | undefined
}

/** What a push wrote, or had written already. */
export interface PushResult extends SinkResult {
  sink: string
  target: string
  /** The database that was pushed. */
  sourceId: string
  /** False if the target has this very state from an earlier push, and nothing was sent. */
  pushed: boolean
}

/**
 * Hands a consistent snapshot of a database to a sink. Readers and writers go on meanwhile.
 *
 * What was pushed is remembered in this browser: an unchanged database is not pushed again, and a push that a
 * reload or a lost network cut goes on where the sink can. Two pushes to the same place run one after the other.
 *
 * @throws AgentDBError `failed_precondition` if the target holds what this browser did not put there;
 * `unavailable` without a network or if the target can't be reached; `data_loss` if what arrived is not what was
 * sent; `canceled`; `not_found` for an unknown database. After any of them the target holds a whole snapshot, the
 * one before or this one.
 */
export async function pushSnapshot(options: PushOptions): Promise<PushResult> {
  const { databaseId, to } = options
  const place: Place = { databaseId, sink: to.name, target: to.target }
  const signal = options.signal ?? new AbortController().signal
  if (signal.aborted) throw canceled()
  return withTurn(place, signal, () => push(options, place, signal))
}

/** A copy goes with its worker, and that should not happen to every one of them. */
const copiesAtMost = 3

async function push(options: PushOptions, place: Place, signal: AbortSignal): Promise<PushResult> {
  const { from, databaseId, to, force = false, whenOnline = false, onProgress = () => {} } = options
  const { needsNetwork = true } = to
  const before = await recall(place)
  const { tip } = await from.getDatabase(databaseId)
  if (!force && !before.unfinished && before.last?.tip === tip) return { ...resultOf(before.last), pushed: false }

  const id = await recordStart(place, before.unfinished?.resume)
  const remember = (resume: string) => recordMore(id, { resume })
  const source = new HeldSource({
    from,
    databaseId,
    onProgress: (doneBytes, totalBytes) => onProgress({ phase: "dumping", doneBytes, totalBytes }),
    onFile: ({ tip, sha256, blob }) => recordMore(id, { tip, sha256, size: blob.size }),
  })
  try {
    for (let again = copiesAtMost; ; ) {
      if (needsNetwork) await awaitNetwork(whenOnline, signal, onProgress)
      try {
        // This very push is an unfinished one too, once it has been cut.
        const { last, unfinished } = await recall(place)
        const result = await to.write(source, { force, last, unfinished, signal, remember, onProgress })
        const { databaseId: targetDatabaseId, ...written } = result
        await recordMore(id, { ...written, targetDatabaseId, resume: undefined, state: "done", endedAt: Date.now() })
        return { ...result, sink: to.name, target: to.target, sourceId: databaseId, pushed: true }
      } catch (error) {
        const cutByNetwork = needsNetwork && whenOnline && !isOnline()
        const cutByWorker = !cutByNetwork && (await source.isLost()) && --again > 0
        if (signal.aborted || !(cutByNetwork || cutByWorker)) throw error
      }
    }
  } catch (error) {
    const failure = signal.aborted ? canceled() : AgentDBError.from(error)
    const outcomeUnknown = failure.code === "unavailable" || failure.code === "canceled"
    await recordMore(id, { state: "failed", endedAt: Date.now(), code: failure.code, outcomeUnknown })
    throw failure
  } finally {
    source.release()
  }
}

async function awaitNetwork(whenOnline: boolean, signal: AbortSignal, onProgress: (progress: PushProgress) => void) {
  if (isOnline()) return
  if (!whenOnline) throw new AgentDBError("unavailable", "there is no network; `whenOnline: true` waits for it")
  onProgress({ phase: "waiting", doneBytes: 0, totalBytes: 0 })
  await online(signal)
}

function resultOf(record: PushRecord): Omit<PushResult, "pushed"> {
  const { sink, target, databaseId: sourceId, tip = 0, size = 0, sha256 = "", etag, url, targetDatabaseId } = record
  return {
    ...{ sink, target, sourceId, tip, size, sha256 },
    ...(etag !== undefined && { etag }),
    ...(url !== undefined && { url }),
    ...(targetDatabaseId !== undefined && { databaseId: targetDatabaseId }),
  }
}
