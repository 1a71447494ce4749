import { ShmFlag } from "../constants.ts"
import type { Heap } from "../heap.ts"

interface Slot {
  exclusive: number | undefined
  readonly shared: Set<number>
}

/**
 * The WAL index of one file: regions of the wasm heap that every connection of the file sees, and the eight
 * locks on it. Both are given up with the last connection.
 */
export class SharedMemory {
  readonly #heap: Heap
  readonly #handles = new Set<number>()
  readonly #regions: number[] = []
  readonly #slots: Slot[] = Array.from({ length: 8 }, () => ({ exclusive: undefined, shared: new Set() }))

  constructor(heap: Heap) {
    this.#heap = heap
  }

  /** Address of the first region, where the header of the index is; undefined before WAL mode is entered. */
  get header(): number | undefined {
    return this.#regions[0]
  }

  /** Address of a region, zeroed when new; 0 if it is not there and may not be made. Throws when out of memory. */
  map(handle: number, index: number, bytes: number, extend: boolean): number {
    this.#handles.add(handle)
    while (extend && this.#regions.length <= index) {
      const pointer = this.#heap.allocate(bytes)
      this.#heap.bytes.fill(0, pointer, pointer + bytes)
      this.#regions.push(pointer)
    }
    return this.#regions[index] ?? 0
  }

  unmap(handle: number): void {
    this.#handles.delete(handle)
    for (const slot of this.#slots) release(slot, handle)
    if (this.#handles.size > 0) return
    for (const region of this.#regions) this.#heap.free(region)
    this.#regions.length = 0
  }

  /** Takes or gives back `count` locks from `first` on, all or none; false means busy. */
  lock(handle: number, first: number, count: number, flags: number): boolean {
    const slots = this.#slots.slice(first, first + count)
    if (flags & ShmFlag.UNLOCK) {
      for (const slot of slots) release(slot, handle)
      return true
    }
    const exclusive = (flags & ShmFlag.EXCLUSIVE) !== 0
    if (slots.some((slot) => isTaken(slot, handle, exclusive))) return false
    for (const slot of slots) {
      if (exclusive) slot.exclusive = handle
      else slot.shared.add(handle)
    }
    return true
  }
}

function isTaken(slot: Slot, handle: number, exclusive: boolean): boolean {
  if (slot.exclusive !== undefined && slot.exclusive !== handle) return true
  return exclusive && (slot.shared.size > 1 || (slot.shared.size === 1 && !slot.shared.has(handle)))
}

function release(slot: Slot, handle: number): void {
  slot.shared.delete(handle)
  if (slot.exclusive === handle) slot.exclusive = undefined
}
