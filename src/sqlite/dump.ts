import type { SyncFile } from "../storage/storage.ts"
import type { Connection } from "./connection.ts"
import { writePiece } from "./write-piece.ts"

/** Told of each piece of the copy, in order. `piece` is valid during the call only. */
export type OnPiece = (piece: Uint8Array, totalBytes: number) => void

const sliceBytes = 1024 * 1024

/**
 * Copies what `reader` sees, page by page inside one read transaction; memory stays at about a slice.
 * Ends the copy's WAL mode, so that any SQLite opens it from any medium.
 * @param tip read in the moment in which the snapshot is taken
 */
export function* dumpDatabase(
  reader: Connection,
  into: SyncFile,
  tip: () => number,
  onPiece: OnPiece = () => {},
): Generator<void, { tip: number; bytes: number }> {
  const run = { ranMs: 0, limitMs: Number.POSITIVE_INFINITY, stopped: undefined }
  const pages = reader.prepareOwn("SELECT data FROM sqlite_dbpage ORDER BY pgno")
  try {
    const slice = new Uint8Array(sliceBytes)
    let filled = 0
    let bytes = 0
    let totalBytes = 0
    const flushSlice = (): void => {
      const piece = slice.subarray(0, filled)
      if (bytes === 0) totalBytes = sizeIn(piece)
      writePiece(into, piece, bytes)
      bytes += filled
      onPiece(piece, totalBytes)
      filled = 0
    }
    into.truncate(0)
    let more = pages.step(run)
    const snapshotTip = tip()
    while (more) {
      const page = pages.blob(0)
      if (filled + page.length > slice.length) {
        flushSlice()
        yield
        // The heap may have grown meanwhile.
        continue
      }
      slice.set(page, filled)
      if (bytes === 0 && filled === 0) slice.fill(1, 18, 20)
      filled += page.length
      more = pages.step(run)
    }
    flushSlice()
    into.flush()
    return { tip: snapshotTip, bytes }
  } finally {
    pages.finalize()
  }
}

/** Page size times pages, as the header of a database says; 0 of an empty one. */
function sizeIn(start: Uint8Array): number {
  if (start.length < 100) return 0
  const header = new DataView(start.buffer, start.byteOffset)
  const pageSize = header.getUint16(16)
  return (pageSize === 1 ? 65_536 : pageSize) * header.getUint32(28)
}
