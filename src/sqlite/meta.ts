import { sha256 } from "@noble/hashes/sha2.js"
import type { SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"

/** What a database is, apart from its content. */
export interface MetaAttributes {
  readonly region: string
  /** Unix seconds. */
  readonly createdAt: number
  /** Unix seconds; 0 is never. */
  readonly expiresAt: number
  /** Grows with each creation: the order of lists, at least 1. */
  readonly order: number
  /** The idempotency key of the call that made it. */
  readonly requestId?: string
}

/** One slot of a meta file: how far the tip had come when the WAL stood where `salt1`, `salt2`, `mxFrame` say. */
export interface MetaRecord {
  /** The newer of two slots has the greater one. */
  readonly seq: number
  readonly tip: number
  readonly salt1: number
  readonly salt2: number
  /** Frames of that WAL that the tip counts. */
  readonly mxFrame: number
  /** The database was not closed: its tip is not known without opening it. */
  readonly dirty: boolean
  readonly attributes: MetaAttributes
}

/*
 * A slot is a page of its own, so that a torn write of one cannot reach the other. Big-endian:
 * 0 magic, 4 format version, 8 seq, 16 tip, 24 salt1, 28 salt2, 32 mxFrame, 36 dirty, 40 length of the attributes,
 * 44 the attributes as JSON, zeros, and a checksum of all before it in the last 16 bytes.
 */
const slotBytes = 4096
const headerBytes = 44
const checksumBytes = 16
const magic = 0x4144_424d
const formatVersion = 1

/** The newest valid record of a meta file; undefined if there is none. */
export function parseMeta(bytes: Uint8Array): MetaRecord | undefined {
  const slots = [readSlot(bytes, 0), readSlot(bytes, 1)].filter((slot) => slot !== undefined)
  return slots.sort((a, b) => b.seq - a.seq)[0]
}

/** The meta file of an open database. */
export class MetaFile {
  readonly #file: SyncFile
  #record: MetaRecord

  private constructor(file: SyncFile, record: MetaRecord) {
    this.#file = file
    this.#record = record
  }

  /**
   * Empties the file and flushes the record of a database without commits.
   * @throws AgentDBError `invalid_argument` if the attributes do not fit a slot
   */
  static create(file: SyncFile, attributes: MetaAttributes): MetaFile {
    const record = { seq: 0, tip: 0, salt1: 0, salt2: 0, mxFrame: 0, dirty: false, attributes }
    const slot = encodeSlot(record)
    file.truncate(0)
    writeSlot(file, slot, 0)
    return new MetaFile(file, record)
  }

  /** Undefined if the file holds no valid record. */
  static open(file: SyncFile): MetaFile | undefined {
    const bytes = new Uint8Array(2 * slotBytes)
    const record = parseMeta(bytes.subarray(0, file.read(bytes, { at: 0 })))
    return record && new MetaFile(file, record)
  }

  get record(): MetaRecord {
    return this.#record
  }

  /** Writes the other slot and flushes. Until that returned the old record stands. */
  update(change: Partial<Omit<MetaRecord, "seq" | "attributes">>): void {
    const record = { ...this.#record, ...change, seq: this.#record.seq + 1 }
    writeSlot(this.#file, encodeSlot(record), record.seq % 2)
    this.#record = record
  }
}

function writeSlot(file: SyncFile, slot: Uint8Array, index: number): void {
  const written = file.write(slot, { at: index * slotBytes })
  if (written !== slot.length) throw new AgentDBError("SQLITE_FULL", "database or disk is full")
  file.flush()
}

function encodeSlot(record: MetaRecord): Uint8Array<ArrayBuffer> {
  const slot = new Uint8Array(slotBytes)
  const view = new DataView(slot.buffer)
  const attributes = new TextEncoder().encode(JSON.stringify(record.attributes))
  if (attributes.length > slotBytes - headerBytes - checksumBytes) {
    throw new AgentDBError("invalid_argument", "the region or request id is too long")
  }
  view.setUint32(0, magic)
  view.setUint32(4, formatVersion)
  view.setBigUint64(8, BigInt(record.seq))
  view.setBigUint64(16, BigInt(record.tip))
  view.setUint32(24, record.salt1)
  view.setUint32(28, record.salt2)
  view.setUint32(32, record.mxFrame)
  view.setUint32(36, record.dirty ? 1 : 0)
  view.setUint32(40, attributes.length)
  slot.set(attributes, headerBytes)
  slot.set(checksum(slot), slotBytes - checksumBytes)
  return slot
}

function readSlot(bytes: Uint8Array, index: number): MetaRecord | undefined {
  const slot = bytes.subarray(index * slotBytes, (index + 1) * slotBytes)
  if (slot.length < slotBytes) return undefined
  const view = new DataView(slot.buffer, slot.byteOffset, slot.length)
  if (view.getUint32(0) !== magic || view.getUint32(4) !== formatVersion) return undefined
  const found = slot.subarray(slotBytes - checksumBytes)
  if (!checksum(slot).every((byte, i) => byte === found[i])) return undefined
  const attributes = new TextDecoder().decode(slot.subarray(headerBytes, headerBytes + view.getUint32(40)))
  return {
    seq: Number(view.getBigUint64(8)),
    tip: Number(view.getBigUint64(16)),
    salt1: view.getUint32(24),
    salt2: view.getUint32(28),
    mxFrame: view.getUint32(32),
    dirty: view.getUint32(36) !== 0,
    attributes: JSON.parse(attributes) as MetaAttributes,
  }
}

function checksum(slot: Uint8Array): Uint8Array {
  return sha256(slot.subarray(0, slotBytes - checksumBytes)).subarray(0, checksumBytes)
}
