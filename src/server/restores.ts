import type { Engine } from "../sqlite/engine.ts"
import { headerBytes, markWalMode, readForeignHeader, verifyForeign } from "../sqlite/foreign-file.ts"
import { resize, writePiece } from "../sqlite/write-piece.ts"
import type { DatabaseFiles, SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"
import type { Catalog, NewAttributes } from "./catalog.ts"

const sliceBytes = 1024 * 1024
/** A flush of everything at the end would hold up others for long. */
const flushBytes = 64 * sliceBytes

export interface RestoreJob {
  readonly file: Blob
  /** The `-wal` file that was beside it, if there was one. */
  readonly wal?: Blob | undefined
  onProgress?(doneBytes: number, totalBytes: number): void
  /** Polled between slices, and from inside the engine with the running time of the check. */
  isCanceled?(ranMs: number): boolean
}

const walLeftOut =
  "the file was in WAL mode: if there was a file of the same name with -wal at the end, its commits are not restored"

/** Databases that are made of files from elsewhere. */
export class Restores {
  readonly #catalog: Catalog
  readonly #engine: Engine
  readonly #limits: Limits

  constructor(catalog: Catalog, engine: Engine, limits: Limits) {
    this.#catalog = catalog
    this.#engine = engine
    this.#limits = limits
  }

  /** @param attributes as `Catalog.restore` has them */
  async restore(project: string, attributes: () => NewAttributes, job: RestoreJob) {
    const warnings: string[] = []
    const entry = await this.#catalog.restore(project, attributes, async (files, check) => {
      const isCanceled = (ranMs: number) => job.isCanceled?.(ranMs) ?? false
      const assertWanted = () => {
        check()
        if (isCanceled(0)) throw new AgentDBError("canceled", "the restore was canceled")
      }
      assertWanted()
      if (await copyAll(job, files, assertWanted)) warnings.push(walLeftOut)
      const run = { ranMs: 0, limitMs: this.#limits.maintenanceMs, stopped: undefined, isCanceled }
      verifyForeign(this.#engine, files, run)
    })
    return { entry, warnings }
  }
}

/** Copies in slices; memory stays the same whatever the size. Returns whether a WAL may have been left out. */
async function copyAll(job: RestoreJob, files: DatabaseFiles, assertWanted: () => void): Promise<boolean> {
  const { file, wal, onProgress = () => {} } = job
  const header = readForeignHeader(await read(file, 0, headerBytes), file.size, wal !== undefined)
  const totalBytes = file.size + (wal?.size ?? 0)
  const copied = (bytes: number) => {
    onProgress(bytes, totalBytes)
    assertWanted()
  }
  await copy(file, files.main, copied)
  const start = await read(file, 0, headerBytes)
  markWalMode(start)
  writePiece(files.main, start, 0)
  if (wal) await copy(wal, files.wal, (bytes) => copied(file.size + bytes))
  return header.hasWal && !wal
}

async function copy(from: Blob, into: SyncFile, copied: (bytes: number) => void): Promise<void> {
  // A quota that is too small shows now, not after a gigabyte.
  resize(into, from.size)
  let flushedAt = 0
  let at = 0
  for await (const piece of piecesOf(from)) {
    writePiece(into, piece, at)
    at += piece.length
    if (at - flushedAt >= flushBytes) {
      into.flush()
      flushedAt = at
    }
    copied(at)
  }
}

/** A file in pieces, each valid until the next is asked for. */
async function* piecesOf(file: Blob): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const { port1, port2 } = new MessageChannel()
  port2.close()
  try {
    for (let at = 0; at < file.size; at += sliceBytes) {
      const piece = await read(file, at, Math.min(sliceBytes, file.size - at))
      yield piece
      // Moved to where nobody is, its memory is free at once; garbage of many would pile up before it is collected.
      port1.postMessage(null, [piece.buffer])
    }
  } finally {
    port1.close()
  }
}

async function read(from: Blob, at: number, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(
    await from
      .slice(at, at + bytes)
      .arrayBuffer()
      .catch(unreadable),
  )
}

/** The page that holds it has gone, or the file on the user's disk was changed or removed. */
function unreadable(cause?: unknown): never {
  throw new AgentDBError("invalid_argument", "the file can't be read any more", { cause })
}
