/**
 * The first page of a database without tables, in WAL mode from the start, so that no journal is ever needed.
 * Field by field as in SQLite's file format, section 1.3.
 */
export function emptyDatabase(): Uint8Array<ArrayBuffer> {
  const page = new Uint8Array(4096)
  const view = new DataView(page.buffer)
  page.set(new TextEncoder().encode("SQLite format 3\0"))
  view.setUint16(16, page.length)
  // Format versions for writing and reading: 2 is WAL.
  page[18] = 2
  page[19] = 2
  // Payload fractions, fixed by the format.
  page[21] = 64
  page[22] = 32
  page[23] = 32
  // Change counter, the size in pages, and the counter that the size is valid for.
  view.setUint32(24, 1)
  view.setUint32(28, 1)
  view.setUint32(92, 1)
  // Schema format 4, text in UTF-8.
  view.setUint32(44, 4)
  view.setUint32(56, 1)
  // An empty leaf page of a table: its cells would start at the end of the page.
  page[100] = 0x0d
  view.setUint16(105, page.length)
  return page
}
