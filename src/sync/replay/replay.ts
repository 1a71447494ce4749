import {
  AgentDBError,
  type CallOptions,
  type Connection,
  type CreatedDatabase,
  type CreateOptions,
  type SinkOptions,
  type SinkResult,
  type SnapshotSink,
  type SnapshotSource,
} from "../../client/index.ts"
import { contentHash, hashContent } from "../content-hash.ts"
import { canceled } from "../online.ts"
import { type RetryOptions, resolveRetry } from "../retry.ts"
import { copyDatabase } from "./copy.ts"
import { Orphan } from "./orphan.ts"
import { makePlan } from "./plan.ts"
import { Target } from "./target.ts"

/** What makes and deletes databases: an `AgentDB` or an `AgentDBServiceClient`. */
export interface DatabaseService {
  createDatabase(o: CreateOptions): Promise<CreatedDatabase>
  deleteDatabase(databaseId: string): Promise<void>
}

export interface ReplayOptions {
  /** Where the database is made. */
  service: DatabaseService
  /** A connection on a database of that service. It is asked again when one is lost. */
  connect(databaseId: string): Promise<Connection>
  /** Names the service in what is remembered of pushes; default `agentdb`. Without credentials. */
  target?: string | undefined
  /** Of the new database. */
  region?: string | undefined
  retry?: RetryOptions | undefined
}

/**
 * A sink that makes the database anew in any AgentDB, by nothing but the protocol. Each push makes a database of
 * its own there, fills it in bounded batches, compares content hashes of both sides, and only then reports its id.
 * A push that fails or is aborted deletes what it made; one that was killed leaves it to the next push.
 *
 * Kept are rowids, AUTOINCREMENT counters, every value to the byte, `user_version` and `application_id`, what
 * ANALYZE found, and the schema as written. `failed_precondition`, before anything is made: rows that violate
 * foreign keys, a contentless FTS5 table, an FTS5 table with locales, a virtual table of an unknown module, a table
 * of 2,000 columns and a rowid whose foreign keys go round in a circle.
 */
export function replay(options: ReplayOptions): SnapshotSink {
  const { target = "agentdb" } = options
  return {
    name: "replay",
    target,
    // Another service of this browser needs none.
    needsNetwork: !("port" in options.service),
    write: (source, o) => write(options, source, o),
  }
}

async function write(options: ReplayOptions, source: SnapshotSource, o: SinkOptions): Promise<SinkResult> {
  const { service } = options
  const retry = resolveRetry(options.retry)
  const { resume } = o.unfinished ?? {}
  // Of an earlier push whose page was killed or lost its network. Until it is deleted this push answers for it.
  if (resume !== undefined) await Orphan.of({ service, retry }, resume)?.delete(undefined)
  const copy = await source.open()
  const { signal } = o
  try {
    const call: CallOptions = { signal }
    const plan = await makePlan(copy.connection, call)
    const totalBytes = await usedBytes(copy.connection, call)
    const report = (phase: "uploading" | "verifying") => (bytes: number) =>
      o.onProgress({ phase, doneBytes: Math.min(bytes, totalBytes), totalBytes })
    const orphan = await Orphan.plan({ service, retry }, o)
    try {
      const databaseId = await orphan.create(options.region)
      const target = new Target({
        connect: () => options.connect(databaseId),
        signal,
        retry,
      })
      try {
        let size = 0
        const uploading = report("uploading")
        uploading(0)
        const onBytes = (bytes: number) => {
          size += bytes
          uploading(size)
        }
        await copyDatabase(copy.connection, plan, target, { ...call, onBytes })
        const onProgress = report("verifying")
        const [there, here] = await Promise.all([
          hashContent(target.read, { ...call, onProgress }),
          contentHash(copy.connection, call),
        ])
        if (there.sha256 !== here.sha256) {
          throw new AgentDBError("data_loss", "the database that was made does not have the content that was sent")
        }
        return { size, sha256: here.sha256, tip: copy.tip, databaseId }
      } finally {
        await target.close()
      }
    } catch (error) {
      await orphan.delete(error)
      throw signal.aborted ? canceled() : error
    }
  } finally {
    await copy.release()
  }
}

async function usedBytes(connection: Connection, o: CallOptions): Promise<number> {
  const pragma = async (name: string) =>
    Number((await connection.query<number[]>(`PRAGMA ${name}`, [], { ...o, rowMode: "array" }).first())?.[0] ?? 0)
  return ((await pragma("page_count")) - (await pragma("freelist_count"))) * (await pragma("page_size"))
}
