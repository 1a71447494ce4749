import {
  AgentDBError,
  type CallOptions,
  type Connection,
  type PushProgress,
  type SnapshotSink,
} from "../../client/index.ts"
import type { AgentDB } from "../../host/agentdb.ts"
import { HeldSource } from "../held-source.ts"
import { canceled } from "../online.ts"
import { pushSnapshot } from "../push-snapshot.ts"
import { makePlan } from "../replay/plan.ts"
import { type ReplayOptions, replay } from "../replay/replay.ts"
import { Target } from "../replay/target.ts"
import { resolveRetry } from "../retry.ts"
import { withTurn } from "../turn.ts"
import { applyChanges } from "./apply.ts"
import { type Base, readBase, writeBase } from "./bases.ts"
import { collectChanges } from "./collect.ts"
import { SnapshotNeeded } from "./snapshot-needed.ts"

export interface PushChangesOptions {
  from: AgentDB
  databaseId: string
  /** As for the sink `replay`. */
  to: ReplayOptions
  /** Ends the push, which rejects with `canceled` (an AbortError). */
  signal?: AbortSignal | undefined
  onProgress?: ((progress: PushProgress) => void) | undefined
}

export type PushChangesResult = {
  /** Of the target; another one after each snapshot. */
  readonly databaseId: string
  /** Of the source, as it was pushed. */
  readonly tip: number
} & (
  | { readonly mode: "unchanged" }
  /** How many rows were inserted, updated or deleted. */
  | { readonly mode: "changes"; readonly rows: number }
  /** The whole database, into a new one, and why. */
  | { readonly mode: "snapshot"; readonly reason: string }
)

/** The copy of what was pushed is kept for this long after the last push. */
const copySeconds = 90 * 86_400

/**
 * Brings the database that an earlier push made to the state of this one, by the rows that changed since; in one
 * transaction, so all or nothing. What was pushed last is kept as a local copy with a time to live of 90 days, and
 * compared with the present: so it does not matter how the changes were made, or how often the browser died.
 *
 * A row that the target has changed too is a conflict: a `PushConflict` (`aborted`) names it and nothing is
 * applied. Where rows alone are not enough a snapshot goes to a new database, and the result says why: nothing was
 * pushed before, the schema changed, a table has no key, too much changed, or a constraint forbids to go row by row.
 *
 * @throws AgentDBError besides that as `pushSnapshot` with `replay` does.
 */
export async function pushChanges(options: PushChangesOptions): Promise<PushChangesResult> {
  const { databaseId, to } = options
  const signal = options.signal ?? new AbortController().signal
  if (signal.aborted) throw canceled()
  const target = to.target ?? "agentdb"
  return withTurn({ databaseId, sink: "changes", target }, signal, () => push(options, target, signal))
}

async function push(options: PushChangesOptions, target: string, signal: AbortSignal): Promise<PushChangesResult> {
  const { from, databaseId, onProgress = () => {} } = options
  const base = await readBase(databaseId, target)
  const { tip } = await from.getDatabase(databaseId)
  if (base?.tip === tip) return { mode: "unchanged", databaseId: base.targetDatabaseId, tip }

  const source = new HeldSource({
    from,
    databaseId,
    onProgress: (doneBytes, totalBytes) => onProgress({ phase: "dumping", doneBytes, totalBytes }),
    onFile: async () => {},
  })
  try {
    await using copy = await source.keep(copySeconds)
    const result = await pushCopy(options, copy, base, signal)
    await writeBase(databaseId, target, { copyId: copy.databaseId, tip: copy.tip, targetDatabaseId: result.databaseId })
    copy.keep()
    if (base) await from.deleteDatabase(base.copyId).catch(() => {})
    return result
  } catch (error) {
    throw signal.aborted ? canceled() : error
  } finally {
    source.release()
  }
}

interface Copy {
  readonly connection: Connection
  readonly tip: number
}

async function pushCopy(
  { from, databaseId, to, onProgress }: PushChangesOptions,
  copy: Copy,
  base: Base | undefined,
  signal: AbortSignal,
): Promise<PushChangesResult> {
  try {
    if (!base) throw new SnapshotNeeded("nothing was pushed before")
    const rows = await pushRows(from, to, copy, base, { signal })
    return { mode: "changes", rows, databaseId: base.targetDatabaseId, tip: copy.tip }
  } catch (error) {
    if (!(error instanceof SnapshotNeeded)) throw error
    const sink = replay(to)
    const shared = { ...copy, release: async () => {} }
    const ofCopy: SnapshotSink = {
      ...sink,
      write: (source, o) =>
        sink.write({ ...source, databaseId, file: () => source.file(), open: async () => shared }, o),
    }
    const made = await pushSnapshot({ from, databaseId, to: ofCopy, force: true, signal, onProgress })
    return { mode: "snapshot", reason: error.reason, databaseId: made.databaseId as string, tip: copy.tip }
  }
}

async function pushRows(
  from: AgentDB,
  to: ReplayOptions,
  copy: Copy,
  base: Base,
  o: CallOptions & { signal: AbortSignal },
) {
  const before = await from.connect(base.copyId).catch((error: unknown) => {
    throw isGone(error) ? new SnapshotNeeded("the copy of what was pushed last is gone") : error
  })
  try {
    const plan = await makePlan(copy.connection, o)
    const changes = await collectChanges(before, copy.connection, o)
    const tables = [...plan.groups.flatMap(({ tables }) => tables), ...plan.virtual]
    const target = new Target({
      connect: () => to.connect(base.targetDatabaseId),
      signal: o.signal,
      retry: resolveRetry(to.retry),
    })
    try {
      await target.read((connection) => applyChanges(connection, changes, tables, o))
      return changes.rows.length
    } catch (error) {
      if (isGone(error)) throw new SnapshotNeeded("the target database is gone")
      if (error instanceof AgentDBError && error.code.startsWith("SQLITE_CONSTRAINT")) {
        throw new SnapshotNeeded(`row by row a constraint is in the way: ${error.message}`)
      }
      throw error
    } finally {
      await target.close()
    }
  } finally {
    await before.close()
  }
}

const isGone = (error: unknown) => error instanceof AgentDBError && error.code === "not_found"
