import { ByteReader } from "./bytes.ts"

/**
 * Finds the ColumnBatch of a ServerMessage without decoding it.
 * Undefined for any frame that is not plainly one: the generated codec reads those.
 */
export function splitServerFrame(
  frame: Uint8Array<ArrayBuffer>,
): { requestId: number; batch: Uint8Array<ArrayBuffer> } | undefined {
  const reader = new ByteReader(frame)
  let requestId = 0
  let batch: Uint8Array<ArrayBuffer> | undefined
  while (!reader.done) {
    const tag = reader.varint()
    if (tag === 0x08) requestId = reader.varint() >>> 0
    else if (tag === 0x22 && !batch) batch = reader.delimited()
    // Another member of the oneof, or a second piece of the same: last one wins, and pieces merge.
    else if (tag >>> 3 >= 2 && tag >>> 3 <= 8) return undefined
    else reader.skip(tag & 7)
  }
  return batch && { requestId, batch }
}
