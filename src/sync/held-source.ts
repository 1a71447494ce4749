import type { Connection, SnapshotCopy, SnapshotFile, SnapshotSource } from "../client/index.ts"
import type { AgentDB } from "../host/agentdb.ts"

interface HeldSourceOptions {
  readonly from: AgentDB
  readonly databaseId: string
  readonly onProgress: (doneBytes: number, totalBytes: number) => void
  /** Told of each copy that is made. */
  readonly onFile: (file: SnapshotFile) => Promise<void>
}

/** What a killed page leaves of a copy is erased after this. */
const copySeconds = 86_400

interface KeptCopy extends AsyncDisposable {
  readonly databaseId: string
  readonly connection: Connection
  readonly tip: number
  keep(): void
}

/** A database as sinks see it. The copy on disk is there until this is released. */
export class HeldSource implements SnapshotSource {
  readonly databaseId: string
  readonly #options: HeldSourceOptions
  #made: Promise<SnapshotFile> | undefined
  #release = () => {}

  constructor(options: HeldSourceOptions) {
    this.databaseId = options.databaseId
    this.#options = options
  }

  /** It goes with the worker that made it; then another is made, of the same bytes if nothing was committed. */
  async file(): Promise<SnapshotFile> {
    if (this.#made && !(await this.isLost())) return this.#made
    this.release()
    this.#made = this.#make()
    this.#made.catch(() => {
      this.#made = undefined
    })
    return this.#made
  }

  /** Whether there was a copy that can't be read any more. */
  async isLost(): Promise<boolean> {
    const made = await this.#made?.catch(() => undefined)
    return made !== undefined && !(await isReadable(made.blob))
  }

  async open(): Promise<SnapshotCopy> {
    const copy = await this.keep(copySeconds)
    return { connection: copy.connection, tip: copy.tip, release: async () => copy[Symbol.asyncDispose]() }
  }

  /** A copy that is erased when it is disposed of, unless it was kept, or when its time is over. */
  async keep(ttlSeconds: number): Promise<KeptCopy> {
    const { from } = this.#options
    const { blob, tip } = await this.file()
    const { databaseId } = await from.restoreDatabase(blob, { ttlSeconds })
    let erase = (): Promise<void> => from.deleteDatabase(databaseId)
    try {
      const connection = await from.connect(databaseId)
      return {
        ...{ databaseId, connection, tip },
        keep: () => {
          erase = async () => {}
        },
        [Symbol.asyncDispose]: async () => {
          await connection.close()
          await erase()
        },
      }
    } catch (error) {
      await erase()
      throw error
    }
  }

  release(): void {
    this.#release()
    this.#release = () => {}
  }

  async #make(): Promise<SnapshotFile> {
    const { from, onProgress, onFile } = this.#options
    const { file, sha256, tip, release } = await from.holdDump(this.databaseId, onProgress)
    this.#release = release
    const made = { blob: file, sha256, tip }
    await onFile(made)
    return made
  }
}

async function isReadable(blob: Blob): Promise<boolean> {
  return blob
    .slice(0, 1)
    .arrayBuffer()
    .then(() => true)
    .catch(() => false)
}
