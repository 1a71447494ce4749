/**
 * Request ids that were cancelled, in shared memory, so that a worker which is busy
 * inside a statement can learn of them. One writer and one reader a ring.
 *
 * Int32 layout: [0] ids ever written, [1] ids ever read (both wrap), then the slots.
 */
const slots = 256
const written = 0
const read = 1
const first = 2
const ringBytes = (first + slots) * Int32Array.BYTES_PER_ELEMENT

export function createCancelRing(): SharedArrayBuffer {
  return new SharedArrayBuffer(ringBytes)
}

/** The client's half. */
export class CancelRingWriter {
  readonly #ring: Int32Array

  constructor(ring: SharedArrayBuffer) {
    this.#ring = new Int32Array(ring)
  }

  /** Skips the id when the ring is full: the Cancel frame, which always goes too, still names it. */
  push(requestId: number): void {
    const ring = this.#ring
    const head = Atomics.load(ring, written)
    if (((head - Atomics.load(ring, read)) | 0) >= slots) return
    Atomics.store(ring, first + (head & (slots - 1)), requestId | 0)
    // The id must be there before the count says so.
    Atomics.store(ring, written, (head + 1) | 0)
  }
}

/** The worker's half. */
export class CancelRingReader {
  readonly #ring: Int32Array

  constructor(ring: SharedArrayBuffer) {
    this.#ring = new Int32Array(ring)
  }

  /** A reader of a ring that a peer sent; undefined for memory of another size. */
  static open(ring: SharedArrayBuffer): CancelRingReader | undefined {
    return ring.byteLength === ringBytes ? new CancelRingReader(ring) : undefined
  }

  /** The ids that came since the last call, oldest first; ended requests may be among them. */
  drain(): number[] {
    const ring = this.#ring
    const head = Atomics.load(ring, written)
    const ids: number[] = []
    let tail = Atomics.load(ring, read)
    // A peer that writes nonsense must not keep the worker here.
    if ((head - tail) >>> 0 > slots) tail = (head - slots) | 0
    for (; tail !== head; tail = (tail + 1) | 0) ids.push(Atomics.load(ring, first + (tail & (slots - 1))) >>> 0)
    Atomics.store(ring, read, tail)
    return ids
  }
}
