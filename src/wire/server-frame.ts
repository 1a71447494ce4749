import { ByteReader, joinPieces } from "./bytes.ts"

/**
 * Finds the ColumnBatch of a ServerMessage without decoding it.
 * Undefined for any other message: the generated codec reads those.
 */
export function splitServerFrame(
  frame: Uint8Array<ArrayBuffer>,
): { requestId: number; batch: Uint8Array<ArrayBuffer> } | undefined {
  const reader = new ByteReader(frame)
  let requestId = 0
  // Of the members of a oneof the last one counts, and pieces of it merge.
  let pieces: Uint8Array<ArrayBuffer>[] = []
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === 0x08) requestId = reader.uint32()
    else if (tag === 0x22) pieces.push(reader.delimited())
    else {
      const field = tag >>> 3
      if (field >= 2 && field <= 8) pieces = []
      reader.skip(tag)
    }
  }
  return pieces.length > 0 ? { requestId, batch: joinPieces(pieces) } : undefined
}
